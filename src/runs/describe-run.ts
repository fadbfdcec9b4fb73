// One run in a line, from run.json and the end of its log.
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/file-errors.ts";
import { BestValues, hasBest } from "./best.ts";
import { nameFrom } from "./directories.ts";
import { numberFromJson } from "./exact-json.ts";
import { readRange, type Fs } from "./files.ts";
import { FORMATS } from "./layout.ts";
import { livenessOf, markIn } from "./liveness.ts";
import { findOwner } from "./lock.ts";
import { RecordTable } from "./record-table.ts";
import type { RunInfo, RunSummary } from "./types.ts";

/** The summary of a run whose run.json was read; the end of the log is read only if it is needed. */
export function describeRun(dir: string, root: string, info: RunInfo, logEnd: () => LogEnd): RunSummary {
  const log = fromRunJson(info) ?? withLogEnd(info, logEnd());
  const engine = info.about["engine"];
  return {
    name: nameFrom(root, dir),
    dir,
    status: statusNow(info.status, dir, info.about),
    reason: info.reason ?? null,
    step: log.step,
    totalSteps: info.totalSteps,
    elapsed: log.elapsed,
    engine: typeof engine === "string" ? engine : null,
    compileSeconds: info.compileSeconds ?? null,
    startedAt: info.startedAt,
    best: log.values.best,
    exact: log.exact,
    metrics: Object.keys(log.values.latest),
  };
}

interface Logged {
  readonly step: number;
  readonly elapsed: number;
  readonly values: BestValues;
  readonly exact: boolean;
}

/** Undefined while the run is running, and for a run of an older version: then the log is needed. */
function fromRunJson(info: RunInfo): Logged | undefined {
  if (info.status === "running" || !info.best) return undefined;
  return { step: info.step ?? 0, elapsed: info.elapsed ?? 0, values: BestValues.of(info), exact: true };
}

/** How much of the end of a log is read. */
const LOG_END = 16 * 1024;
const NEWLINE = 10;

export interface LogEnd {
  readonly records: RecordTable;
  /** Whether this is the whole log. */
  readonly isWhole: boolean;
}

/** The last records of a log; none when there is no log. */
export function readLogEnd(fs: Fs, dir: string): LogEnd {
  const path = `${dir}/${FORMATS.metrics.file}`;
  const records = new RecordTable(path);
  let fd: number;
  try {
    fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { records, isWhole: true };
    throw error;
  }
  try {
    const found = fs.fstatSync(fd);
    if (!found.isFile()) return { records, isWhole: true };
    const { size } = found;
    const start = Math.max(0, size - LOG_END);
    const read = readRange(fs, fd, start, size);
    const bytes = builtin("Reading runs", "node:buffer").Buffer.from(read.buffer, read.byteOffset, read.length);
    // The first line is only a part of one, unless it is the first of the file. A torn last line has no newline.
    let from = start === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
    for (let end = bytes.indexOf(NEWLINE, from); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      records.take(bytes, from, end);
      from = end + 1;
    }
    return { records, isWhole: start === 0 };
  } finally {
    fs.closeSync(fd);
  }
}

/** What run.json states, continued with the records at the end of the log. */
function withLogEnd(info: RunInfo, { records: { columns }, isWhole }: LogEnd): Logged {
  const { rows, fields } = columns;
  const [steps, , , elapsed] = fields;
  const values = isWhole ? new BestValues() : BestValues.of(info);
  const covered = info.best && !isWhole ? info.step! : -Infinity;
  for (const name of columns.names()) {
    const column = columns.find(name)!;
    for (let i = 0; i < column.count; i++) {
      const step = steps![column.rows[i]!]!;
      if (step >= covered) values.add(name, column.values[i]!, step);
    }
  }
  // Of a run of an older version, the latest value of a metric that is not at the end of its log.
  for (const [name, value] of Object.entries(info.metrics ?? {})) {
    const number = numberFromJson(value);
    if (!isWhole && hasBest(name) && !columns.find(name) && !info.best && number !== undefined)
      values.add(name, number, info.step ?? 0);
  }
  const isEnded = info.status !== "running";
  return {
    step: (isEnded ? info.step : undefined) ?? (rows > 0 ? steps![rows - 1]! : (info.step ?? 0)),
    elapsed: (isEnded ? info.elapsed : undefined) ?? (rows > 0 ? elapsed![rows - 1]! : (info.elapsed ?? 0)),
    values,
    exact: isWhole || (rows > 0 && steps![0]! <= covered),
  };
}

/**
 * `running` becomes `killed` when the process is gone: it could not write that down itself. The lock of the run tells,
 * also of a process in another container; without one, its mark does. Of a process on another machine nobody here can
 * tell: it counts as alive.
 * @param process as `about` in run.json names it
 */
export function statusNow(status: string, dir: string, process: Readonly<Record<string, unknown>> | object): string {
  if (status !== "running") return status;
  const mark = markIn(process);
  const found = mark ? livenessOf(mark) : "unknown";
  const liveness = found === "unknown" ? (findOwner(dir)?.liveness ?? found) : found;
  return liveness === "dead" ? "killed" : status;
}
