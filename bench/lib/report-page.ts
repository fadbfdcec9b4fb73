// The report of all benchmarks in Markdown: first every aim with its figure and whether it is met, then the tables.
import type { Result } from "./measure.ts";
import { causeOf, figure, goal, show, verdict, type Report } from "./report.ts";

/** A benchmark as it was measured last; only its name when it never was. */
export interface Measured extends Partial<Result> {
  readonly name: string;
  readonly at?: string;
  readonly machine?: string;
}

const row = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(...head), row(...head.map(() => "---")), ...rows.map((cells) => row(...cells))].join("\n");

function aimRows({ name, reports = [], failed, at }: Measured): string[][] {
  if (at === undefined) return [[name, "all", "", "", "not measured yet", ""]];
  if (failed !== undefined) return [[name, "all", "", "", "failed", ""]];
  return reports.flatMap((report) =>
    report.aims.map((aim) => [report.name, aim.what, goal(aim), figure(aim), verdict(aim), causeOf(aim)]),
  );
}

const section = ({ title, columns, rows }: Report): string =>
  `${title.replaceAll("\n", " ")}.\n\n${table(
    ["", ...columns],
    rows.map(([label, ...values]) => [label, ...values.map(show)]),
  )}`;

function details({ name, at, machine, seconds, failed, reports = [] }: Measured): string {
  const head = `## ${name}\n\n`;
  if (at === undefined) return `${head}Not measured yet: \`npm run bench ${name}\`.`;
  const when = `Measured ${at.slice(0, 16).replace("T", " ")} UTC in ${Math.round(seconds!)} s on ${machine}.`;
  const what = failed === undefined ? reports.map(section).join("\n\n") : `It failed:\n\n\`\`\`text\n${failed}\n\`\`\``;
  return `${head}${when}\n\n${what}`;
}

export function reportPage(all: readonly Measured[]): string {
  const rows = all.flatMap(aimRows);
  const count = (state: string): number => rows.filter((cells) => cells[4] === state).length;
  return `# Benchmarks

${count("met")} met, ${count("MISSED")} missed, ${rows.length - count("met") - count("MISSED")} without a figure. A condition must hold; an aim is a target.

${table(["benchmark", "what", "aim or condition", "figure", "", "what limits it"], rows)}

${all.map(details).join("\n\n")}
`;
}
