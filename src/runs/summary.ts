// Finds the runs below a directory and summarizes each, from run.json and the end of its log: a list of a thousand runs
// must not read a thousand logs.
import { type Builtin, builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/file-errors.ts";
import { BestValues, hasBest } from "./best.ts";
import { numberFromJson } from "./exact-json.ts";
import { readExperimentRecord } from "./experiment-json.ts";
import { nodeFs, readRange, type Fs } from "./files.ts";
import { FORMATS, isFoldName, NO_RUNS_INSIDE } from "./layout.ts";
import { isAlive } from "./liveness.ts";
import { readRun } from "./read-run.ts";
import { RecordTable } from "./record-table.ts";
import { readResults } from "./results.ts";
import { readRunJson } from "./run-json.ts";
import type { BestValue, RunInfo } from "./types.ts";

type Path = Builtin<"node:path">;

const OWNER = "Reading runs";
const paths = (): Path => builtin(OWNER, "node:path");

/** One line of a list of runs. */
export interface RunSummary {
  /** The path from the directory that was searched. */
  readonly name: string;
  readonly dir: string;
  /** `running`, `killed`, or how it ended: `completed`, `stopped`, `interrupted` or `error`. */
  readonly status: string;
  readonly reason: string | null;
  readonly step: number;
  readonly totalSteps: number | null;
  /** Seconds of training. */
  readonly elapsed: number;
  /** The engine, and the seconds that it spent on compiling; null where they are not known. */
  readonly engine: string | null;
  readonly compileSeconds: number | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /**
   * By metric, the smallest or the largest value, as suits the metric's name; only of metrics of which one value is
   * better than another. NaN when all values are.
   */
  readonly best: Readonly<Record<string, BestValue>>;
  /**
   * Whether `best` covers the whole log. False for a long log of a run of an older version of hookline, or of one that
   * was killed: then it covers the last records only.
   */
  readonly exact: boolean;
  /** Names of all metrics. */
  readonly metrics: readonly string[];
}

/** Options of `listRuns` and `summarizeRun`. */
export interface SummaryOptions {
  /** Reads a whole log where its end is not enough for an exact `best`. Default false. */
  readonly exact?: boolean;
}

/** All runs in or below a directory. An experiment without logs is listed as its results.json describes it. */
export async function listRuns(root: string, options: SummaryOptions = {}): Promise<RunSummary[]> {
  const { dirname } = paths();
  const all = [...directories(root)];
  const logged = all.filter((each) => isLoggedRun(root, each)).map(({ dir }) => dir);
  const around = new Set<string>();
  for (const dir of logged) {
    for (let at = dir; !around.has(at) && at.length >= root.length; at = dirname(at)) around.add(at);
  }
  const others = all.filter(({ dir, files }) => files.has(FORMATS.results.file) && !around.has(dir));
  const found: (RunSummary | undefined)[] = [];
  for (const dir of logged) found.push(await summarizeRun(dir, options, root));
  for (const { dir } of others) found.push(...(await fromResults(root, dir)));
  return found.filter((one) => one !== undefined);
}

/** Whether this is the directory of a run. A fold is a part of its run: it counts only when its own directory is searched. */
export function isLoggedRun(root: string, { dir, files }: Directory): boolean {
  const { dirname, basename } = paths();
  const isFold = isFoldName(basename(dir)) && dirname(dir) !== root && dir !== root;
  return files.has(FORMATS.run.file) && !isFold;
}

/** Levels below the directory that is searched: models and folds of an experiment are one or two levels below it. */
const DEEPEST = 4;

export interface Directory {
  readonly dir: string;
  /** Names of its files. */
  readonly files: ReadonlySet<string>;
}

/** The directories of all studies in or below a directory. */
export const findStudies = (root: string): string[] => findDirectories(root, FORMATS.journal.file);

/** Every directory in or below `root` that has this file. */
export const findDirectories = (root: string, file: string): string[] =>
  [...directories(root)].filter(({ files }) => files.has(file)).map(({ dir }) => dir);

/** Each directory in or below `root` in which a run or a study may be; none when there is no `root`. */
export function* directories(root: string, depth = 0): Generator<Directory> {
  const entries = entriesOf(root, depth === 0);
  yield { dir: root, files: new Set(entries.filter((entry) => entry.isFile()).map(({ name }) => name)) };
  if (depth === DEEPEST) return;
  for (const entry of entries) {
    if (!entry.isDirectory() || entry.name.startsWith(".") || NO_RUNS_INSIDE.has(entry.name)) continue;
    yield* directories(paths().join(root, entry.name), depth + 1);
  }
}

function entriesOf(dir: string, isRoot: boolean): ReturnType<typeof readEntries> {
  try {
    return readEntries(dir);
  } catch (error) {
    // A folder below that cannot be read is not one of ours.
    if (!isRoot || codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

const readEntries = (dir: string) => nodeFs(OWNER).readdirSync(dir, { withFileTypes: true });

/**
 * The summary of a run. Undefined when the directory has no run.json.
 * @param root the directory from which `name` is the path; default: `name` is the last part of `dir`
 */
export async function summarizeRun(
  dir: string,
  { exact = false }: SummaryOptions = {},
  root: string = dir,
): Promise<RunSummary | undefined> {
  const fs = nodeFs(OWNER);
  const info = readRunJson(fs, dir);
  if (!info) return undefined;
  const summary = describeRun(dir, root, info, () => readLogEnd(fs, dir));
  if (!exact || summary.exact) return summary;
  const { best, latest } = BestValues.in(await readRun(dir));
  return { ...summary, best, metrics: Object.keys(latest), exact: true };
}

/** The summary of a run whose run.json was read; the end of the log is read only if it is needed. */
export function describeRun(dir: string, root: string, info: RunInfo, logEnd: () => LogEnd): RunSummary {
  const log = fromRunJson(info) ?? withLogEnd(info, logEnd());
  const engine = info.about["engine"];
  return {
    name: nameFrom(root, dir),
    dir,
    status: statusNow(info.status, info.about),
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

function nameFrom(root: string, dir: string): string {
  const { relative, basename } = paths();
  return relative(root, dir) || basename(dir);
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
    const { size } = fs.fstatSync(fd);
    const start = Math.max(0, size - LOG_END);
    const read = readRange(fs, fd, start, size);
    const bytes = builtin(OWNER, "node:buffer").Buffer.from(read.buffer, read.byteOffset, read.length);
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

/** One for each model that has been trained; one in all before the first has. */
async function fromResults(root: string, dir: string): Promise<RunSummary[]> {
  const saved = (await readResults(dir))!;
  const name = nameFrom(root, dir);
  const models = Object.entries(saved.models);
  const record = readExperimentRecord(dir);
  const about = {
    dir,
    // The experiment of a program has no record, and older versions did not record the process.
    status: statusNow(saved.status, typeof record === "string" ? {} : (record.process ?? {})),
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

/**
 * `running` becomes `killed` when the process is gone: it could not write that down itself. Of a process on another
 * machine nobody here can tell.
 * @param process as `about` in run.json names it
 */
export function statusNow(status: string, process: Readonly<Record<string, unknown>> | object): string {
  const { pid, host, started } = process as Readonly<Record<string, unknown>>;
  if (status !== "running" || typeof pid !== "number" || typeof host !== "string") return status;
  // Not every file states when the process started: then its pid must do.
  return isAlive({ pid, host, started: typeof started === "string" ? started : "" }) ? status : "killed";
}
