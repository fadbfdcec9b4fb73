// What a benchmark tells: a table of numbers and its aims, each met or not; for people, or as JSON.

export interface Aim {
  readonly what: string;
  /** Undefined where something it is compared with is not here; out of a file that is null. */
  readonly measured: number | undefined;
  readonly unit: string;
  /** The most it may be, or with `atLeast` the least. */
  readonly limit: number;
  readonly atLeast?: boolean;
  /** A condition: it is not just aimed at. */
  readonly must?: boolean;
  /** What limits the figure, as a profile showed; printed where the aim is missed. */
  readonly cause?: string;
}

export interface Report {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly string[];
  /** A label, then one value for each column; undefined where there is none. */
  readonly rows: readonly (readonly [string, ...(number | undefined)[]])[];
  readonly aims: readonly Aim[];
}

/** Undefined when there is no figure. */
function isMet({ measured, limit, atLeast = false }: Aim): boolean | undefined {
  if (typeof measured !== "number") return undefined;
  return atLeast ? measured >= limit : measured <= limit;
}

export const verdict = (aim: Aim): "met" | "MISSED" | "no figure" =>
  ({ true: "met", false: "MISSED", undefined: "no figure" } as const)[`${isMet(aim)}`];

export const goal = ({ unit, limit, atLeast = false, must = false }: Aim): string =>
  `${must ? "must be" : "aim"} ${atLeast ? "≥" : "≤"} ${limit} ${unit}`;

export const figure = ({ measured, unit }: Aim): string =>
  typeof measured === "number" ? `${show(measured)} ${unit}` : "";

export const show = (value: number | undefined): string =>
  typeof value !== "number"
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

/** Why a missed aim is missed; empty where it is met, or where nobody knows. */
export const causeOf = (aim: Aim): string => (verdict(aim) === "MISSED" ? (aim.cause ?? "") : "");

function aimLine(aim: Aim): string {
  const cause = causeOf(aim);
  return `${verdict(aim).padEnd(9)}  ${aim.what}: ${figure(aim)} (${goal(aim)})${cause && `\n${" ".repeat(11)}${cause}`}`;
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
    aims: aims.map((aim) => ({ ...aim, met: isMet(aim) ?? null })),
  };
}
