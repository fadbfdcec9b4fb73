// A run as a line of the list: from run.json, and while it runs from the end of its log and from what `control()` says.
// Whole logs are not read.
import fs, { type Stats } from "node:fs";
import { helloFile } from "../../runs/control/control-files.ts";
import { readHello } from "../../runs/control/read-control.ts";
import { FORMATS } from "../../runs/layout.ts";
import { readRunJson } from "../../runs/run-json.ts";
import { describeRun, readLogEnd } from "../../runs/describe-run.ts";
import type { RunInfo, RunSummary } from "../../runs/types.ts";
import type { ControlHello, RunRow } from "../wire.ts";
import { isHelloOf, stateOf, usualGap, type RunSigns } from "./run-state.ts";

/** What was read of a run, until one of its files changes. */
export interface KnownRun {
  readonly info: RunInfo;
  readonly hello: ControlHello | undefined;
  readonly signs: RunSigns;
  /** All but its state, which depends on the time. */
  readonly row: Omit<RunRow, "state" | "controllable">;
  /** Changes with every file that the row was made from. */
  readonly stamp: string;
}

const statOf = (path: string): Stats | undefined => {
  const found = fs.lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found : undefined;
};
const stampOf = (found: Stats | undefined): string => (found ? `${found.ino}:${found.size}:${found.mtimeMs}` : "-");

/** run.json of a run that has ended says everything, unless an older version wrote it. */
const isComplete = ({ status, best }: RunInfo): boolean => status !== "running" && best !== undefined;

/** A run whose run.json was read. */
interface ReadRun {
  readonly dir: string;
  readonly root: string;
  readonly id: string;
  readonly study: string | null;
  readonly info: RunInfo;
  readonly stamp: string;
  /** When a file of it was written last. */
  readonly writtenAt: number;
}

/**
 * What is known of a run now: `before` itself, if none of the files has changed that it was made from. Undefined without
 * a run.json, `unreadable` when it cannot be read.
 */
export function readRunRow(
  dir: string,
  root: string,
  id: string,
  study: string | null,
  before: KnownRun | undefined,
): KnownRun | "unreadable" | undefined {
  const run = statOf(`${dir}/${FORMATS.run.file}`);
  if (!run) return undefined;
  let stamp = `${stampOf(run)} `;
  let writtenAt = run.mtimeMs;
  const info = before?.stamp.startsWith(stamp) ? before.info : readRunJson(fs, dir);
  if (!info) return "unreadable";
  const isEnded = isComplete(info);
  if (!isEnded) {
    const log = statOf(`${dir}/${FORMATS.metrics.file}`);
    const hello = statOf(helloFile(dir));
    stamp += `${stampOf(log)} ${stampOf(hello)} `;
    writtenAt = Math.max(writtenAt, log?.mtimeMs ?? 0, hello?.mtimeMs ?? 0);
  }
  if (before?.stamp === stamp && before.row.study === study) return before;
  const read = { dir, root, id, study, info, stamp, writtenAt };
  return isEnded ? endedRun(read) : runningRun(read);
}

/** Of a thousand runs most have ended. All steps in one function would take longer to compile than to do. */
function endedRun(read: ReadRun): KnownRun {
  const { dir, root, info, stamp, writtenAt } = read;
  const summary = describeRun(dir, root, info, noLog);
  const signs = { info, hello: undefined, lastRecord: undefined, writtenAt, usualGap: 0 };
  return { info, hello: undefined, stamp, signs, row: rowOf(read, summary, summary.step, info.endedAt ?? null) };
}

const noLog = (): never => {
  throw new Error("The log of a run that has ended is not read.");
};

function runningRun(read: ReadRun): KnownRun {
  const { dir, root, info, stamp, writtenAt } = read;
  const end = readLogEnd(fs, dir);
  const summary = describeRun(dir, root, info, () => end);
  const { rows, fields } = end.records.columns;
  const times = (fields[2] ?? new Float64Array(0)).subarray(0, rows);
  const hello = readHello(dir);
  const lastRecord = rows > 0 ? times[rows - 1]! : undefined;
  const step = Math.max(summary.step, isHelloOf(hello, info) ? hello!.step : 0);
  const signs = { info, hello, lastRecord, writtenAt, usualGap: usualGap(times) };
  return { info, hello, stamp, signs, row: rowOf(read, summary, step, lastRecord ?? info.endedAt ?? null) };
}

const rowOf = (
  { id, study, info }: ReadRun,
  summary: RunSummary,
  step: number,
  newsAt: number | null,
): KnownRun["row"] => ({
  id,
  name: summary.name,
  reason: summary.reason,
  step,
  totalSteps: summary.totalSteps,
  elapsed: summary.elapsed,
  engine: summary.engine,
  startedAt: summary.startedAt,
  newsAt,
  best: summary.best,
  hparams: flat(info.hparams),
  metric: mainMetric(summary),
  study,
});

const LIVE: ReadonlySet<string> = new Set(["starting", "running", "evaluating", "saving", "paused", "stale"]);

export function rowNow({ row, signs, hello, info }: KnownRun, now: number): RunRow {
  const state = stateOf(signs, now);
  const isLive = LIVE.has(state);
  return { ...row, state, controllable: isLive && isHelloOf(hello, info) && hello!.state !== "ended" };
}

const mainMetric = ({ best, metrics }: RunSummary): string | null =>
  ["val/loss", "loss"].find((name) => name in best) ?? metrics[0] ?? null;

/** Values of a table: what is nested gets names with dots. */
function flat(hparams: RunInfo["hparams"], prefix = "", into: Record<string, string | number | boolean | null> = {}) {
  for (const [name, value] of Object.entries(hparams)) {
    if (typeof value !== "object" || value === null) into[prefix + name] = value;
    else if (Array.isArray(value)) into[prefix + name] = JSON.stringify(value);
    else flat(value as RunInfo["hparams"], `${prefix}${name}.`, into);
  }
  return into;
}
