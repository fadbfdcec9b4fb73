// A run as a line of the list: from run.json, the end of its log and what `control()` says. Whole logs are not read.
import { lstatSync } from "node:fs";
import { nodeFs } from "../../runs/files.ts";
import { helloFile } from "../../runs/control/control-files.ts";
import { readHello } from "../../runs/control/read-control.ts";
import { FORMATS } from "../../runs/layout.ts";
import type { RecordTable } from "../../runs/record-table.ts";
import { readRunJson } from "../../runs/run-json.ts";
import { describeRun, readLogEnd } from "../../runs/describe-run.ts";
import type { RunInfo } from "../../runs/types.ts";
import type { ControlHello, RunRow } from "../wire.ts";
import { isHelloOf, stateOf, usualGap, type RunSigns } from "./run-state.ts";

/** What was read of a run, until one of its files changes. */
export interface KnownRun {
  readonly info: RunInfo;
  readonly hello: ControlHello | undefined;
  readonly signs: RunSigns;
  /** All but its state, which depends on the time. */
  readonly row: Omit<RunRow, "state" | "controllable">;
}

/** What the list shows something of. */
const filesOf = (dir: string): string[] => [
  `${dir}/${FORMATS.run.file}`,
  `${dir}/${FORMATS.metrics.file}`,
  helloFile(dir),
];

/** Changes with every file of the run that the list shows something of; undefined without a run.json. */
export function stamp(dir: string): string | undefined {
  const [run, ...others] = filesOf(dir).map((file) => {
    const found = lstatSync(file, { throwIfNoEntry: false });
    return found?.isFile() ? `${found.ino}:${found.size}:${found.mtimeMs}` : undefined;
  });
  return run === undefined ? undefined : [run, ...others].join(" ");
}

/** Undefined when run.json cannot be read. */
export function readRunRow(dir: string, root: string, id: string, study: string | null): KnownRun | undefined {
  const fs = nodeFs("hookline ui");
  const info = readRunJson(fs, dir);
  if (!info) return undefined;
  const end = readLogEnd(fs, dir);
  const summary = describeRun(dir, root, info, () => end);
  const { rows, fields } = end.records.columns;
  const times = fields[2]!.subarray(0, rows);
  const hello = readHello(dir);
  const lastRecord = rows > 0 ? times[rows - 1]! : undefined;
  return {
    info,
    hello,
    signs: { info, hello, lastRecord, writtenAt: writtenAt(dir), usualGap: usualGap(times) },
    row: {
      id,
      name: summary.name,
      reason: summary.reason,
      step: Math.max(summary.step, isHelloOf(hello, info) ? hello!.step : 0),
      totalSteps: summary.totalSteps,
      elapsed: summary.elapsed,
      engine: summary.engine,
      startedAt: summary.startedAt,
      newsAt: lastRecord ?? null,
      best: summary.best,
      hparams: flat(info.hparams),
      spark: spark(end.records, summary.metrics),
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

function writtenAt(dir: string): number {
  const times = filesOf(dir).map((file) => lstatSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}

/** Values of a table: what is nested gets names with dots. */
function flat(hparams: RunInfo["hparams"], prefix = "", into: Record<string, string | number | boolean | null> = {}) {
  for (const [name, value] of Object.entries(hparams)) {
    if (typeof value !== "object" || value === null) into[prefix + name] = value;
    else if (Array.isArray(value)) into[prefix + name] = JSON.stringify(value);
    else flat(value as RunInfo["hparams"], `${prefix}${name}.`, into);
  }
  return into;
}

const SPARK_POINTS = 60;
/** Fewer points are no curve. */
const FEW_POINTS = 8;

/** The main metric is that of the evaluation, unless the end of the log has too few of its values for a curve. */
function spark({ columns }: RecordTable, metrics: readonly string[]): RunRow["spark"] {
  const candidates = ["val/loss", "loss", ...metrics.slice(0, 1)];
  const counted = candidates.map((name) => ({ name, column: columns.find(name) }));
  const { name, column } =
    counted.find((each) => (each.column?.count ?? 0) >= FEW_POINTS) ?? counted.find((each) => each.column?.count) ?? {};
  if (name === undefined || !column) return null;
  const { values, count } = column;
  return { metric: name, values: Array.from(values.subarray(Math.max(0, count - SPARK_POINTS), count)) };
}
