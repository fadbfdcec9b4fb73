// run.json: what a run is and how it ended, replaced as a whole each time.
import { readRange, replaceFile, setAside, type Fs } from "./files.ts";
import { RUN_SCHEMA, type RunEnd, type RunFacts, type RunInfo } from "./types.ts";
import { toJson } from "./log-lines.ts";

const RUN_VERSION = 1;
/** More than this is no file of ours. */
const MOST_BYTES = 16 * 1024 * 1024;

const pathIn = (dir: string): string => `${dir}/run.json`;

function write(fs: Fs, dir: string, info: RunInfo): void {
  replaceFile(fs, pathIn(dir), (put) => put(new TextEncoder().encode(`${toJson(info, 2)}\n`)));
}

/** Says that the run is running; returns what was written. */
export function writeRunBegin(fs: Fs, dir: string, run: RunFacts): RunInfo {
  const before = run.resumedAt === undefined ? undefined : readRunJson(fs, dir);
  // Another run branches off: what the one before was stays known.
  if (before && before.id !== run.id) setAside(fs, pathIn(dir));
  const info: RunInfo = {
    schema: RUN_SCHEMA,
    version: RUN_VERSION,
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

export function writeRunEnd(fs: Fs, dir: string, begun: RunInfo, end: RunEnd): void {
  const { status, reason, step, time, elapsed, compileSeconds, metrics } = end;
  const compiled = compileSeconds !== undefined && { compileSeconds };
  write(fs, dir, { ...begun, status, reason, step, endedAt: time, elapsed, ...compiled, metrics });
}

/** Undefined when there is none, or something else. */
export function readRunJson(fs: Fs, dir: string): RunInfo | undefined {
  try {
    const fd = fs.openSync(pathIn(dir), fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try {
      const { size } = fs.fstatSync(fd);
      if (size > MOST_BYTES) return undefined;
      const info = JSON.parse(new TextDecoder().decode(readRange(fs, fd, 0, size))) as RunInfo | null;
      return info?.schema === RUN_SCHEMA ? info : undefined;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
