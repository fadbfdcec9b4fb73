// hookline runs: a table of runs with how they ended and their best metrics, or the curves of one metric.
import { existsSync } from "node:fs";
import { formatDuration } from "../terminal/eta.ts";
import { formatMetric, formatNumber } from "../terminal/format-number.ts";
import { didYouMean, directionOf } from "../core/names.ts";
import { readRun } from "../runs/read-run.ts";
import { findRuns } from "../runs/summary.ts";
import type { RunSummary } from "../runs/types.ts";
import { UsageError, noDirectory } from "./errors.ts";
import { isStyled, paint, print, printJson, say, shownPath, typed } from "./output.ts";
import { table } from "./table.ts";
import { safeLine } from "../core/safe-text.ts";
import { type CommandDescription, jsonFlag } from "./command.ts";

export const command: CommandDescription = {
  examples: `runs
runs experiments --sort val/loss
runs --plot val/accuracy
runs --json`,
  flags: (program) =>
    program
      .argument("[dir]", "a directory with runs, or the directory of one (default: runs)")
      .option("--metric <name...>", "the metrics to show; default: those of the evaluation")
      .option("--sort <by>", "started, name, steps, time, or a metric, the best first", "started")
      .option("--plot <metric>", "draw the curves of a metric")
      .option("--exact", "read whole logs where run.json and the last records do not give the best of a run")
      .addOption(jsonFlag()),
};

interface Flags {
  readonly metric?: readonly string[];
  readonly sort: string;
  readonly plot?: string;
  readonly exact?: boolean;
  readonly json?: boolean;
}

/** More do not fit beside each other. */
const MOST_METRICS = 4;

const ORDERS: Readonly<Record<string, (a: RunSummary, b: RunSummary) => number>> = {
  started: (a, b) => b.startedAt - a.startedAt,
  name: (a, b) => a.name.localeCompare(b.name),
  steps: (a, b) => b.step - a.step,
  time: (a, b) => b.elapsed - a.elapsed,
};

export async function run(given: string | undefined, flags: Flags): Promise<void> {
  const dir = given ?? "runs";
  if (given !== undefined && !existsSync(given)) throw noDirectory(given);
  const { runs: found, unreadable } = await findRuns(dir, { exact: flags.exact ?? false });
  for (const each of unreadable) say(`${shownPath(each)}: its run.json cannot be read, so it is not in the list.`);
  const known = new Set(found.flatMap(({ best }) => Object.keys(best)));
  const runs = found.sort(orderBy(flags.sort, known));
  if (flags.json && flags.plot === undefined) return printJson(runs);
  if (runs.length === 0) return say(`There are no runs in ${dir}. \`${typed("train")}\` makes one.`);
  if (flags.plot !== undefined) {
    const all = new Set(runs.flatMap(({ metrics }) => metrics));
    return plot(runs, checkMetric(flags.plot, all), flags.json);
  }
  const metrics = flags.metric?.map((name) => checkMetric(name, known)) ?? defaultMetrics(known);
  const columns = metrics.map((name) => ` ${name}`);
  print(
    table(
      ["run", "status", " steps", ...columns, " time", "started"],
      runs.map((one) => [one.name, one.status, steps(one), ...metrics.map((name) => bestOf(one, name)), ...times(one)]),
      // The first metric stays: it is what one looks for.
      { leaveOut: ["started", " time", " steps", ...columns.slice(1).toReversed()] },
    ),
  );
  if (runs.some(({ exact, best }) => !exact && metrics.some((name) => best[name])))
    say(`* the best of the last records only. \`--exact\` reads the whole logs.`);
}

const steps = ({ step, totalSteps }: RunSummary): string =>
  totalSteps === null || totalSteps === step ? `${step}` : `${step}/${totalSteps}`;

const times = ({ elapsed, startedAt }: RunSummary): string[] => [
  formatDuration(elapsed),
  new Date(startedAt).toISOString().slice(0, 16).replace("T", " "),
];

function bestOf({ best, exact }: RunSummary, name: string): string {
  const found = best[name];
  return found ? `${formatMetric(name, found.value)} @${found.step}${exact ? "" : "*"}` : "";
}

/** Those of evaluations say most; without any, the loss. */
function defaultMetrics(known: ReadonlySet<string>): string[] {
  const all = [...known];
  const evaluated = all.filter((name) => /^(?:val|test)\//.test(name));
  const shown = evaluated.length > 0 ? evaluated : all.filter((name) => /(?:^|\/)loss$/.test(name));
  return shown.slice(0, MOST_METRICS);
}

function checkMetric(name: string, known: ReadonlySet<string>): string {
  if (known.has(name)) return name;
  const list = [...known].slice(0, 50).join(", ");
  throw new UsageError(`No run here has a metric \`${name}\`.${didYouMean(name, known)} There is: ${list || "none"}.`);
}

function orderBy(by: string, known: ReadonlySet<string>): (a: RunSummary, b: RunSummary) => number {
  if (Object.hasOwn(ORDERS, by)) return ORDERS[by]!;
  if (!known.has(by)) {
    const names = [...Object.keys(ORDERS), ...known];
    throw new UsageError(
      `--sort: there is no \`${by}\`.${didYouMean(by, names)} There is: ${names.slice(0, 50).join(", ")}.`,
    );
  }
  const sign = directionOf(by) === "min" ? 1 : -1;
  const value = ({ best }: RunSummary): number => {
    const found = best[by]?.value ?? Number.NaN;
    return Number.isNaN(found) ? Infinity : sign * found;
  };
  return (a, b) => value(a) - value(b);
}

async function plot(runs: readonly RunSummary[], metric: string, json = false): Promise<void> {
  const having = runs.filter(({ metrics }) => metrics.includes(metric));
  const curves = await Promise.all(
    having.map(async ({ name, dir }) => {
      const { steps: at, values } = (await readRun(dir)).get(metric);
      return { name, steps: at, values };
    }),
  );
  if (json) return printJson({ metric, curves });
  print(await drawCurves(metric, curves));
}

export interface Curve {
  readonly name: string;
  readonly steps: Float64Array;
  readonly values: Float64Array;
}

const HEIGHT = 15;
/** Of a terminal whose width nobody knows. */
const USUAL_WIDTH = 80;
const LABEL = 12;
const COLORS = ["blue", "green", "magenta", "yellow", "cyan", "red"] as const;

/** Draws the first few: more than there are colours nobody could tell apart. */
export async function drawCurves(metric: string, all: readonly Curve[]): Promise<string> {
  const chart = await import("asciichart");
  const drawable = all.filter(({ values }) => values.some(Number.isFinite));
  if (drawable.length === 0) return `${safeLine(metric)}: there is not one finite value to draw.`;
  const curves = drawable.slice(0, COLORS.length);
  const width = Math.max(20, (process.stdout.columns ?? USUAL_WIDTH) - LABEL - 2);
  const last = Math.max(...curves.map(({ steps }) => steps.at(-1)!));
  const first = Math.min(...curves.map(({ steps }) => steps[0]!));
  const rows = curves.map((curve) => resample(curve, first, last, width));
  const isColored = isStyled(process.stdout);
  const drawing = chart.plot(rows, {
    height: HEIGHT,
    format: (value) => formatNumber(value).padStart(LABEL),
    ...(isColored && { colors: COLORS.map((color) => chart[color]) }),
  });
  const axis = `${" ".repeat(LABEL)} step ${first}${`step ${last}`.padStart(Math.max(1, width - `step ${first}`.length))}`;
  const names = curves.map(({ name }, i) =>
    isColored ? paint(process.stdout, COLORS[i]!, `■ ${safeLine(name)}`) : safeLine(name),
  );
  const rest = drawable.length > curves.length ? `\n… and ${drawable.length - curves.length} more runs, not drawn` : "";
  return `${safeLine(metric)}\n${drawing}\n${axis}\n${names.join("   ")}${rest}`;
}

/** One value for each column up to the curve's end: the latest finite one at that step, and before the first that one. */
function resample({ steps, values }: Curve, first: number, last: number, width: number): number[] {
  const end = Math.max(1, Math.ceil((width * (steps.at(-1)! - first)) / Math.max(1, last - first)));
  let at = 0;
  let shown = values.find(Number.isFinite)!;
  return Array.from({ length: Math.min(width, end) }, (_, column) => {
    const step = first + ((last - first) * column) / Math.max(1, width - 1);
    for (; at < steps.length && steps[at]! <= step; at++) if (Number.isFinite(values[at])) shown = values[at]!;
    return shown;
  });
}
