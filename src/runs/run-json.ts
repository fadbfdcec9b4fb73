// run.json: what a run is, how far it is and how it ended. It is replaced as a whole each time.
import { readRange, replaceFile, setAside, type Fs } from "./files.ts";
import type { RunEnd, RunFacts, RunInfo } from "./types.ts";
import type { BestValues } from "./best.ts";
import { toJson } from "./exact-json.ts";
import { FORMATS } from "./layout.ts";

/** A larger file is not one of ours. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Making one for each file takes longer than reading it: a list of runs reads thousands. */
const UTF8 = new TextDecoder();

const pathIn = (dir: string): string => `${dir}/${FORMATS.run.file}`;

function write(fs: Fs, dir: string, info: RunInfo): void {
  replaceFile(fs, pathIn(dir), (put) => put(new TextEncoder().encode(`${toJson(info, 2)}\n`)));
}

/** States that the run is running; returns what was written. */
export function writeRunBegin(fs: Fs, dir: string, run: RunFacts): RunInfo {
  const before = run.resumedAt === undefined ? undefined : readRunJson(fs, dir);
  // A run with another id branches off: the file of the first is kept.
  if (before && before.id !== run.id) setAside(fs, pathIn(dir));
  const info: RunInfo = {
    schema: FORMATS.run.schema,
    version: FORMATS.run.version,
    id: run.id,
    name: run.name,
    status: "running",
    startedAt: before?.id === run.id ? before.startedAt : run.startedAt,
    partStartedAt: run.startedAt,
    resumedAt: run.resumedAt ?? null,
    totalSteps: run.totalSteps ?? null,
    hparams: run.hparams,
    about: run.about,
  };
  write(fs, dir, info);
  return info;
}

/** While the run is running: how far it is, so that a list of runs need not read their logs. */
export function writeRunProgress(
  fs: Fs,
  dir: string,
  begun: RunInfo,
  { step, elapsed, values }: { readonly step: number; readonly elapsed: number; readonly values: BestValues },
): void {
  write(fs, dir, { ...begun, step, elapsed, metrics: values.latest, best: values.best });
}

export function writeRunEnd(fs: Fs, dir: string, begun: RunInfo, end: RunEnd, values?: BestValues): void {
  const { status, reason, step, time, elapsed, compileSeconds, metrics } = end;
  const compiled = compileSeconds !== undefined && { compileSeconds };
  const best = values && { best: values.best };
  write(fs, dir, { ...begun, status, reason, step, endedAt: time, elapsed, ...compiled, metrics, ...best });
}

/** Undefined when there is no such file, or it is not a run.json. */
export function readRunJson(fs: Fs, dir: string): RunInfo | undefined {
  try {
    const fd = fs.openSync(pathIn(dir), fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try {
      const { size } = fs.fstatSync(fd);
      if (size > MOST_BYTES) return undefined;
      const info: unknown = JSON.parse(UTF8.decode(readRange(fs, fd, 0, size)));
      if (!isRunInfo(info)) return undefined;
      return info.hparams && info.about ? info : { ...info, hparams: info.hparams ?? {}, about: info.about ?? {} };
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

type Check = (value: unknown) => boolean;

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isNumber: Check = (value) => typeof value === "number";
const isText: Check = (value) => typeof value === "string";
/** Numbers that JSON lacks are strings. */
const isValue: Check = (value) => isNumber(value) || isText(value);
/** What a Date can hold. */
const isTime: Check = (value) => Math.abs(value as number) <= 8.64e15 && isNumber(value);
const isEach =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);
const isBest: Check = (value) => {
  if (!isObject(value)) return false;
  const { value: best, step } = value as Readonly<Record<string, unknown>>;
  return isValue(best) && isNumber(step);
};
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

const FIELDS: Readonly<Record<keyof RunInfo, Check>> = {
  schema: (value) => value === FORMATS.run.schema,
  version: isNumber,
  id: isText,
  name: isText,
  status: isText,
  startedAt: isTime,
  partStartedAt: isTime,
  resumedAt: orNull(isNumber),
  totalSteps: orNull(isNumber),
  hparams: isObject,
  about: isObject,
  step: isNumber,
  elapsed: isNumber,
  metrics: isEach(isValue),
  best: isEach(isBest),
  reason: isText,
  endedAt: isTime,
  compileSeconds: isNumber,
};

/** Made once: a list of runs checks thousands of files. */
const CHECKS = Object.entries(FIELDS);

/** Missing in no version. */
const ALWAYS: readonly (keyof RunInfo)[] = ["schema", "status", "startedAt"];

/** A list of runs must not fail because of one file. */
function isRunInfo(found: unknown): found is RunInfo & Partial<Pick<RunInfo, "hparams" | "about">> {
  if (!isObject(found)) return false;
  const info = found as Readonly<Record<string, unknown>>;
  return (
    ALWAYS.every((name) => info[name] !== undefined) &&
    CHECKS.every(([name, check]) => info[name] === undefined || check(info[name]))
  );
}
