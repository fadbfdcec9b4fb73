// What is known about a run on the disk, from whichever of its files are there.
import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import type { ProcessMark } from "../../runs/liveness.ts";
import { directionOf } from "../../core/names.ts";
import { readResults } from "../../runs/results.ts";
import { nodeFs } from "../../runs/files.ts";
import { readRun, type RunLog } from "../../runs/read-run.ts";
import { readRunJson } from "../../runs/run-json.ts";
import { readRecord } from "./record.ts";
import { statusNow } from "./run-process.ts";

interface BestValue {
  readonly value: number;
  readonly step: number;
}

export interface RunSummary {
  readonly name: string;
  readonly dir: string;
  /** How it ended, `running`, or `killed`. */
  readonly status: string;
  readonly reason: string | null;
  readonly step: number;
  readonly totalSteps: number | null;
  /** Seconds of training. */
  readonly elapsed: number;
  /** The engine, and the seconds that it spent on compiling; null where it is not known. */
  readonly engine: string | null;
  readonly compileSeconds: number | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** By metric, where one value is better than another: the smallest or the largest, as suits its name; NaN of none. */
  readonly best: Readonly<Record<string, BestValue>>;
  /** Names of all metrics. */
  readonly metrics: readonly string[];
}

/** Runs lie in a directory, and the models of an experiment one or two levels below it. */
const DEEPEST = 4;
/** Nothing in there is a run of its own. */
const OTHERS = new Set(["checkpoints", "node_modules", "tb", "wandb"]);

/** A part of a run, which is shown to who asks for that run. */
const isFold = (root: string, dir: string): boolean =>
  /^fold-\d+$/.test(basename(dir)) && dirname(dir) !== root && dir !== root;

/** All runs in or below `root`; of one that keeps no log, what the experiment wrote down. */
export async function summarizeAll(root: string): Promise<RunSummary[]> {
  const logged = (await findRuns(root, "run.json")).filter((dir) => !isFold(root, dir));
  const isLogged = (dir: string): boolean => logged.some((one) => one === dir || one.startsWith(dir + sep));
  const others = (await findRuns(root, "results.json")).filter((dir) => !isLogged(dir));
  const found = await Promise.all([
    ...logged.map(async (dir) => [await summarize(root, dir)]),
    ...others.map((dir) => fromResults(root, dir)),
  ]);
  return found.flat().filter((one) => one !== undefined);
}

/** Every directory with this file in or below `root`; none when there is no such directory. */
export async function findRuns(root: string, file: string, depth = 0): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    // A folder below that may not be read is none of ours.
    if (depth > 0 || error.code === "ENOENT") return [];
    throw error;
  });
  const here = entries.some((entry) => entry.name === file && entry.isFile()) ? [root] : [];
  if (depth === DEEPEST) return here;
  const folders = entries.filter(
    (entry) => !entry.name.startsWith(".") && !OTHERS.has(entry.name) && entry.isDirectory(),
  );
  const below = await Promise.all(folders.map(({ name }) => findRuns(join(root, name), file, depth + 1)));
  return [...here, ...below.flat()];
}

/** Undefined when run.json is not ours. A run without metrics.jsonl has no metrics yet. */
export async function summarize(root: string, dir: string): Promise<RunSummary | undefined> {
  const info = readRunJson(nodeFs("hookline runs"), dir);
  if (!info) return undefined;
  const log = statSync(`${dir}/metrics.jsonl`, { throwIfNoEntry: false }) ? await readRun(dir) : undefined;
  return {
    name: relative(root, dir) || basename(dir),
    dir,
    status: statusNow(info.status, info.about),
    reason: info.reason ?? null,
    step: info.step ?? log?.steps.at(-1) ?? 0,
    totalSteps: info.totalSteps,
    elapsed: info.elapsed ?? log?.elapsed.at(-1) ?? 0,
    engine: typeof info.about["engine"] === "string" ? info.about["engine"] : null,
    compileSeconds: info.compileSeconds ?? null,
    startedAt: info.startedAt,
    best: Object.fromEntries((log?.names ?? []).flatMap((name) => bestOf(log!, name))),
    metrics: log?.names ?? [],
  };
}

/** One for each model that has been trained; one in all before the first has. */
async function fromResults(root: string, dir: string): Promise<RunSummary[]> {
  const saved = (await readResults(dir))!;
  const name = relative(root, dir) || basename(dir);
  const models = Object.entries(saved.models);
  const about = {
    dir,
    status: statusNow(saved.status, processOf(dir)),
    reason: saved.reason,
    totalSteps: null,
    engine: null,
    compileSeconds: null,
    startedAt: saved.startedAt,
    metrics: [],
  };
  if (models.length === 0) return [{ ...about, name, step: 0, elapsed: 0, best: {} }];
  return models.map(([model, { training, results }]) => {
    const { steps: step = 0, elapsed = 0, metrics = {}, status = about.status, reason = saved.reason } = training ?? {};
    const values = Object.entries({ ...metrics, ...results }).filter(([metric]) => canBeBest(metric));
    const best = Object.fromEntries(values.map(([metric, value]) => [metric, { value, step }]));
    return { ...about, name: models.length > 1 ? `${name}/${model}` : name, status, reason, step, elapsed, best };
  });
}

/** Nothing where the experiment is one of a program, or of an older version. */
function processOf(dir: string): ProcessMark | Record<string, never> {
  try {
    return readRecord(dir).process ?? {};
  } catch {
    return {};
  }
}

/** A learning rate or a throughput has no best. */
const canBeBest = (name: string): boolean =>
  directionOf(name) === "max" || /loss|error|perplexity|mse|mae/i.test(name) || /^(?:val|test)\//.test(name);

/** NaN where there is no number: a run that went wrong is not to look like one without the metric. */
function bestOf(log: RunLog, name: string): [string, BestValue][] {
  if (!canBeBest(name)) return [];
  const { steps, values } = log.get(name);
  if (values.length === 0) return [];
  const sign = directionOf(name) === "min" ? 1 : -1;
  let at = 0;
  values.forEach((value, i) => {
    const best = values[at]!;
    if (Number.isNaN(best) ? !Number.isNaN(value) : sign * value < sign * best) at = i;
  });
  return [[name, { value: values[at]!, step: steps[at]! }]];
}
