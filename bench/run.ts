// npm run bench [name …] [-- --json]: runs the named benchmarks, or all, and says which aims are met.
import { print, toJson, type Report } from "./lib/report.ts";

/** Loaded one by one, so that a benchmark never runs in code that another has warmed up with its own types. */
const BENCHMARKS: Readonly<Record<string, () => Promise<{ run(): Promise<Report | readonly Report[]> | Report }>>> = {
  dispatch: () => import("./dispatch.ts"),
  overhead: () => import("./overhead.ts"),
  lenet: () => import("./lenet.ts"),
  engines: () => import("./engines.ts"),
  "gradient-monitor": () => import("./gradient-monitor.ts"),
  "nan-guard": () => import("./nan-guard.ts"),
  checkpoint: () => import("./checkpoint.ts"),
  logging: () => import("./logging.ts"),
  webhook: () => import("./webhook.ts"),
  startup: () => import("./startup.ts"),
};

const args = process.argv.slice(2);
const json = args.includes("--json");
const asked = args.filter((arg) => !arg.startsWith("--"));
const unknown = asked.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  console.error(
    `There is no benchmark \`${unknown.join("`, `")}\`. Benchmarks: ${Object.keys(BENCHMARKS).join(", ")}.`,
  );
  process.exit(2);
}

const reports: Report[] = [];
for (const name of asked.length > 0 ? asked : Object.keys(BENCHMARKS)) {
  const { run } = await BENCHMARKS[name]!();
  const told = [await run()].flat();
  reports.push(...told);
  if (!json) told.forEach(print);
}
if (json) console.log(JSON.stringify(reports.map(toJson), undefined, 2));
