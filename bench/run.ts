// npm run bench [name …] [-- --json]: measures the named benchmarks, or all, one after the other, and says which aims are
// met. What was measured is kept in bench/results/, and written together as bench/results/report.md.
import { relative } from "node:path";
import { BENCHMARKS } from "./benchmarks.ts";
import { measure } from "./lib/measure.ts";
import { print, toJson, type Report } from "./lib/report.ts";
import { keep, REPORT, writeReport } from "./lib/results.ts";

const args = process.argv.slice(2);
const json = args.includes("--json");
const flags = args.filter((arg) => arg.startsWith("--") && arg !== "--json");
const asked = args.filter((arg) => !arg.startsWith("--"));
const unknown = asked.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  console.error(
    `There is no benchmark \`${unknown.join("`, `")}\`. Benchmarks: ${Object.keys(BENCHMARKS).join(", ")}.`,
  );
  process.exit(2);
}

const names = asked.length > 0 ? asked : Object.keys(BENCHMARKS);
const all: Report[] = [];
for (const [i, name] of names.entries()) {
  const result = await measure(name, flags, `${i + 1} of ${names.length}: ${name}`);
  keep(name, result);
  // After each, so that an interrupted run still has a report.
  writeReport(Object.keys(BENCHMARKS));
  if (result.failed !== undefined) {
    console.error(`${name} failed: ${result.failed}`);
    process.exitCode = 1;
  }
  all.push(...result.reports);
  if (!json) result.reports.forEach(print);
}
if (json) console.log(JSON.stringify(all.map(toJson), undefined, 2));
console.error(`report: ${relative(process.env.INIT_CWD ?? ".", REPORT)}`);
