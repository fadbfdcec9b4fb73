// What a benchmark tells: a table of numbers and its aims, each met or not; for people, or as JSON.

interface Aim {
  readonly what: string;
  readonly measured: number;
  readonly unit: string;
  /** The most it may be, or with `atLeast` the least. */
  readonly limit: number;
  readonly atLeast?: boolean;
}

export interface Report {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly string[];
  /** A label, then one value for each column; undefined where there is none. */
  readonly rows: readonly (readonly [string, ...(number | undefined)[]])[];
  readonly aims: readonly Aim[];
}

const isMet = ({ measured, limit, atLeast = false }: Aim): boolean => (atLeast ? measured >= limit : measured <= limit);

const show = (value: number | undefined): string =>
  value === undefined
    ? ""
    : Math.abs(value) >= 100
      ? value.toFixed(0)
      : value.toFixed(Math.abs(value) < 2 ? 3 : Math.abs(value) < 10 ? 2 : 1);

function table({ title, columns, rows }: Report): string {
  const cells = [["", ...columns], ...rows.map(([label, ...values]) => [label, ...values.map(show)])];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)));
  const lines = cells.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join("  "),
  );
  return [title, ...lines].join("\n");
}

function aimLine(aim: Aim): string {
  const { what, measured, unit, limit, atLeast } = aim;
  const verdict = isMet(aim) ? "met   " : "MISSED";
  return `${verdict}  ${what}: ${show(measured)} ${unit} (aim ${atLeast ? "≥" : "≤"} ${limit} ${unit})`;
}

export function print(report: Report): void {
  console.log(`${table(report)}\n${report.aims.map(aimLine).join("\n")}\n`);
}

/** The same as plain data. */
export function toJson({ name, columns, rows, aims }: Report): object {
  return {
    name,
    rows: rows.map(([label, ...values]) => ({
      label,
      ...Object.fromEntries(columns.map((column, i) => [column, values[i] ?? null])),
    })),
    aims: aims.map((aim) => ({ ...aim, met: isMet(aim) })),
  };
}
