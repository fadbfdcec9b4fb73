// run.json: what a run is, how far it is and how it ended. It is replaced as a whole each time.
import { readRange, replaceFile, setAside, type Fs } from "./files.ts";
import type { RunEnd, RunFacts, RunInfo } from "./types.ts";
import type { BestValues } from "./best.ts";
import { toJson } from "./exact-json.ts";
import { FORMATS } from "./layout.ts";

/** A larger file is not one of ours. */
const MOST_BYTES = 16 * 1024 * 1024;

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
      const info = JSON.parse(new TextDecoder().decode(readRange(fs, fd, 0, size))) as RunInfo | null;
      return info?.schema === FORMATS.run.schema ? info : undefined;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
