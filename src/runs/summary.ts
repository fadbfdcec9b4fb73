// Finds the runs below a directory and summarizes each, from run.json and the end of its log: a list of a thousand runs
// must not read a thousand logs.
import { checkOptions, is } from "../core/options.ts";
import { builtin } from "../platform/builtin.ts";
import { BestValues, hasBest } from "./best.ts";
import { describeRun, readLogEnd, statusNow } from "./describe-run.ts";
import { directories, isLoggedRun, nameFrom } from "./directories.ts";
import { readExperimentRecord } from "./experiment-json.ts";
import { nodeFs } from "./files.ts";
import { FORMATS } from "./layout.ts";
import { readRun } from "./read-run.ts";
import { readResults } from "./results.ts";
import { readRunJson } from "./run-json.ts";
import type { RunSummary } from "./types.ts";

const OWNER = "Reading runs";

/** Options of `listRuns` and `summarizeRun`. */
export interface SummaryOptions {
  /** Reads a whole log where its end is not enough for an exact `best`. Default false. */
  readonly exact?: boolean;
}

const CHECKS = { exact: is.boolean };

/** All runs in or below a directory. An experiment without logs is listed as its results.json describes it. */
export async function listRuns(root: string, options: SummaryOptions = {}): Promise<RunSummary[]> {
  checkOptions("listRuns", options, CHECKS);
  return (await findRuns(root, options)).runs;
}

interface FoundRuns {
  readonly runs: RunSummary[];
  /** Directories with a run.json that cannot be read. */
  readonly unreadable: readonly string[];
}

export async function findRuns(root: string, options: SummaryOptions): Promise<FoundRuns> {
  const { dirname } = builtin(OWNER, "node:path");
  const all = [...directories(root)];
  const logged = all.filter((each) => isLoggedRun(root, each)).map(({ dir }) => dir);
  const around = new Set<string>();
  for (const dir of logged) {
    for (let at = dir; !around.has(at) && at.length >= root.length; at = dirname(at)) around.add(at);
  }
  const others = all.filter(({ dir, files }) => files.has(FORMATS.results.file) && !around.has(dir));
  const runs: RunSummary[] = [];
  const unreadable: string[] = [];
  for (const dir of logged) {
    const summary = await summarizeRun(dir, options, root);
    if (summary) runs.push(summary);
    else unreadable.push(dir);
  }
  for (const { dir } of others) runs.push(...(await fromResults(root, dir)));
  return { runs, unreadable };
}

/**
 * The summary of a run. Undefined when the directory has no run.json.
 * @param root the directory from which `name` is the path; default: `name` is the last part of `dir`
 */
export async function summarizeRun(
  dir: string,
  options: SummaryOptions = {},
  root: string = dir,
): Promise<RunSummary | undefined> {
  checkOptions("summarizeRun", options, CHECKS);
  const { exact = false } = options;
  const fs = nodeFs(OWNER);
  const info = readRunJson(fs, dir);
  if (!info) return undefined;
  const summary = describeRun(dir, root, info, () => readLogEnd(fs, dir));
  if (!exact || summary.exact) return summary;
  const { best, latest } = BestValues.in(await readRun(dir));
  return { ...summary, best, metrics: Object.keys(latest), exact: true };
}

/** One for each model that has been trained; one in all before the first has. None when results.json is not ours. */
async function fromResults(root: string, dir: string): Promise<RunSummary[]> {
  const saved = await readResults(dir).catch(() => undefined);
  if (!saved) return [];
  const name = nameFrom(root, dir);
  const models = Object.entries(saved.models);
  const record = readExperimentRecord(dir);
  const about = {
    dir,
    // The experiment of a program has no record, and older versions did not record the process.
    status: statusNow(saved.status, dir, typeof record === "string" ? {} : (record.process ?? {})),
    reason: saved.reason,
    totalSteps: null,
    engine: null,
    compileSeconds: null,
    startedAt: saved.startedAt,
    exact: true,
    metrics: [],
  };
  if (models.length === 0) return [{ ...about, name, step: 0, elapsed: 0, best: {} }];
  return models.map(([model, { training, results }]) => {
    const { steps: step = 0, elapsed = 0, metrics = {}, status = about.status, reason = saved.reason } = training ?? {};
    const values = Object.entries({ ...metrics, ...results }).filter(([metric]) => hasBest(metric));
    const best = Object.fromEntries(values.map(([metric, value]) => [metric, { value, step }]));
    return { ...about, name: models.length > 1 ? `${name}/${model}` : name, status, reason, step, elapsed, best };
  });
}
