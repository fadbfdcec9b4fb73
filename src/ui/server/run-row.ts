// A run as a line of the list: from run.json, and while it runs from the end of its log and from what `control()` says.
// Whole logs are not read.
import { lstatSync, type Stats } from "node:fs";
import { nodeFs } from "../../runs/files.ts";
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
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found : undefined;
};
const stampOf = (found: Stats | undefined): string => (found ? `${found.ino}:${found.size}:${found.mtimeMs}` : "-");

/** run.json of a run that has ended says everything, unless an older version wrote it. */
const isComplete = ({ status, best }: RunInfo): boolean => status !== "running" && best !== undefined;

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
  const fs = nodeFs("hookline ui");
  const run = statOf(`${dir}/${FORMATS.run.file}`);
  if (!run) return undefined;
  const isSameInfo = before !== undefined && before.stamp.startsWith(`${stampOf(run)} `);
  const info = isSameInfo ? before.info : readRunJson(fs, dir);
  if (!info) return "unreadable";
  const others = isComplete(info) ? [] : [`${dir}/${FORMATS.metrics.file}`, helloFile(dir)].map(statOf);
  const stamp = [run, ...others].map(stampOf).join(" ") + " ";
  if (before?.stamp === stamp && before.row.study === study) return before;

  const end = isComplete(info) ? undefined : readLogEnd(fs, dir);
  const summary = describeRun(dir, root, info, () => end!);
  const { rows, fields } = end?.records.columns ?? { rows: 0, fields: [] };
  const times = (fields[2] ?? new Float64Array(0)).subarray(0, rows);
  const hello = isComplete(info) ? undefined : readHello(dir);
  const lastRecord = rows > 0 ? times[rows - 1]! : undefined;
  const writtenAt = Math.max(...[run, ...others].map((found) => found?.mtimeMs ?? 0));
  return {
    info,
    hello,
    stamp,
    signs: { info, hello, lastRecord, writtenAt, usualGap: usualGap(times) },
    row: {
      id,
      name: summary.name,
      reason: summary.reason,
      step: Math.max(summary.step, isHelloOf(hello, info) ? hello!.step : 0),
      totalSteps: summary.totalSteps,
      elapsed: summary.elapsed,
      engine: summary.engine,
      startedAt: summary.startedAt,
      newsAt: lastRecord ?? info.endedAt ?? null,
      best: summary.best,
      hparams: flat(info.hparams),
      metric: mainMetric(summary),
      study,
    },
  };
}

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
