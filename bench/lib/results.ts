// What was measured last, a file for each benchmark, and the report made of all of them: one can be measured again
// without the others.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { reportPage, type Measured } from "./report-page.ts";
import type { Result } from "./measure.ts";

const FOLDER = fileURLToPath(new URL("../results", import.meta.url));
export const REPORT = join(FOLDER, "report.md");

const fileOf = (name: string): string => join(FOLDER, `${name}.json`);

/** Figures mean little without it. */
function machine(): string {
  const cores = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cores.length} × ${cores[0]?.model.trim() ?? "unknown"}, ${memory} GiB, Node ${process.versions.node}`;
}

export function keep(name: string, result: Result): void {
  mkdirSync(FOLDER, { recursive: true });
  const measured: Measured = { name, at: new Date().toISOString(), machine: machine(), ...result };
  writeFileSync(fileOf(name), `${JSON.stringify(measured, undefined, 1)}\n`);
}

const read = (name: string): Measured | undefined =>
  existsSync(fileOf(name)) ? (JSON.parse(readFileSync(fileOf(name), "utf8")) as Measured) : undefined;

export function writeReport(names: readonly string[]): void {
  writeFileSync(REPORT, reportPage(names.map((name) => read(name) ?? { name })));
}
