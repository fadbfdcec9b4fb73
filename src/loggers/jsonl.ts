// The log files of a run directory: metrics.jsonl, events.jsonl and run.json, which `readRun` reads.
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { BestValues } from "../runs/best.ts";
import { Fence } from "../runs/fence.ts";
import { FORMATS } from "../runs/layout.ts";
import {
  chunksOf,
  directoryOf,
  firstLine,
  keepUnderOtherName,
  makeDirectory,
  nodeFs,
  replaceFile,
  setAside,
  type Fs,
} from "../runs/files.ts";
import { AppendFile } from "./append-file.ts";
import type { FileBackend, FileSettings } from "./backend.ts";
import {
  METRICS_HEADER_START,
  eventLine,
  headerLine,
  lastRecordOf,
  recordLine,
  runOfHeader,
  stepOfLine,
} from "../runs/log-lines.ts";
import type { LogRecord, RunFacts, RunInfo } from "../runs/types.ts";
import { MediaFiles } from "./media-files.ts";
import { threadedBackend } from "./threaded-backend.ts";
import { readRunJson, writeRunBegin, writeRunEnd, writeRunProgress } from "../runs/run-json.ts";

/** Options of `jsonl`. */
export interface JsonlOptions {
  /** Default: the trainer's `runDir`. */
  readonly dir?: string;
  readonly name?: string;
}

/**
 * Writes every record as a line of JSON to `<runDir>/metrics.jsonl`, images to `media/`, events to `events.jsonl`, and
 * facts about the run to `run.json`. A resumed run continues the same files.
 * @example jsonl()
 */
export const jsonl = /* @__PURE__ */ component(
  { kind: "logger", name: "jsonl", takes: () => ({ options: { dir: is.pathToWrite, name: is.name } }) },
  (options: JsonlOptions = {}): FileBackend => {
    const { name = "jsonl", dir } = options;
    return threadedBackend({ name, kind: "jsonl", images: true, make: jsonlFiles, settings: () => ({ name, dir }) });
  },
);

/** The files of one run. */
export function jsonlFiles({ name, dir: given }: FileSettings): FileBackend {
  let metrics: AppendFile | undefined;
  let events: AppendFile | undefined;
  let info: RunInfo | undefined;
  let fence: Fence | undefined;
  let values: BestValues | undefined = new BestValues();
  let last: LogRecord | undefined;
  let progressAt = 0;
  let dir = "";
  let images: MediaFiles | undefined;

  /** Before a flush resolves, and not at each one. */
  function noteProgress(): void {
    const now = performance.now();
    if (!info || !last || !values || now - progressAt < PROGRESS_MS) return;
    progressAt = now;
    fence?.check();
    writeRunProgress(nodeFs(name), dir, info, { step: last.step, elapsed: last.elapsed, values });
    last = undefined;
  }

  return {
    name,
    async open(run) {
      dir = directoryOf(name, given ?? run.dir);
      const fs = nodeFs(name);
      fence = run.lock && new Fence(run.lock);
      fence?.check();
      makeDirectory(fs, dir);
      images = new MediaFiles(fs, dir);
      if (run.resumedAt === undefined) {
        for (const file of FILES) setAside(fs, `${dir}/${file}`);
        images.setAside();
      }
      const before = run.resumedAt === undefined ? undefined : readRunJson(fs, dir);
      info = writeRunBegin(fs, dir, run);
      metrics = openMetrics(name, fs, `${dir}/${FORMATS.metrics.file}`, run, fence);
      events = AppendFile.open(name, `${dir}/${FORMATS.events.file}`, { fence });
      begin(events, headerLine("events", run));
      if (run.resumedAt !== undefined) values = await bestSoFar(dir, run, before, metrics.size);
      progressAt = performance.now();
    },
    log(record) {
      const { paths, failure } = imagesOf(record, images);
      metrics?.append(recordLine(record, paths));
      last = record;
      for (const metric in record.scalars) values?.add(metric, record.scalars[metric]!, record.step);
      // Reported as a warning; the numbers of the record are not lost with the image.
      if (failure !== undefined) throw failure;
    },
    event: (event) => events?.append(eventLine(event)),
    async flush() {
      await Promise.all([metrics?.flush(), events?.flush()]);
      noteProgress();
    },
    flushSync() {
      metrics?.flushSync();
      events?.flushSync();
    },
    async close(end) {
      const closed = await Promise.allSettled([metrics?.close(), events?.close()]);
      fence?.check();
      if (info) writeRunEnd(nodeFs(name), dir, info, end, values);
      for (const result of closed) if (result.status === "rejected") throw result.reason;
    },
  };
}

interface WrittenImages {
  /** By name, from the run's directory. */
  readonly paths: Readonly<Record<string, string>>;
  /** Why an image could not be written. */
  readonly failure?: unknown;
}

function imagesOf({ step, media }: LogRecord, files: MediaFiles | undefined): WrittenImages {
  const images = Object.entries(media).flatMap(([name, each]) =>
    each.kind === "image" ? [[name, each] as const] : [],
  );
  if (images.length === 0 || !files) return NO_IMAGES;
  try {
    return { paths: Object.fromEntries(images.map(([name, each]) => [name, files.write(step, name, each)])) };
  } catch (failure) {
    return { paths: {}, failure };
  }
}

const NO_IMAGES: WrittenImages = { paths: {} };

/** How old the progress in run.json may get, in milliseconds. */
const PROGRESS_MS = 10_000;

const FILES = [FORMATS.run.file, FORMATS.metrics.file, FORMATS.events.file];

/** A resume must not wait for a log that is longer than this, in bytes. */
const MOST_READ = 32 * 1024 * 1024;

/**
 * The best values of a resumed run: from run.json when it covers all that is kept, otherwise from the log. Undefined
 * when the log is too long: then run.json states none, and a list of runs says that it does not know.
 */
async function bestSoFar(
  dir: string,
  run: RunFacts,
  before: RunInfo | undefined,
  logSize: number,
): Promise<BestValues | undefined> {
  const isCovered = before?.id === run.id && before.status !== "running" && before.step! <= run.resumedAt!;
  if (isCovered && before.best) return BestValues.of(before);
  if (logSize > MOST_READ) return undefined;
  const { readRun } = await import("../runs/read-run.ts");
  return BestValues.in(await readRun(dir));
}

/** Writes the header at once, so that a problem with the disk shows before the first step. */
function begin(file: AppendFile, header: string): void {
  if (file.size > 0) return;
  file.append(header);
  file.flushSync();
}

/** Opens the log. Records after the checkpoint will be logged again, so they are removed. */
function openMetrics(owner: string, fs: Fs, path: string, run: RunFacts, fence: Fence | undefined): AppendFile {
  const header = headerLine("metrics", run);
  const { text, isWhole } = firstLine(fs, path);
  const runBefore = isWhole ? runOfHeader(text) : undefined;
  // A kill may have come while the header was written.
  const isTorn = !isWhole && header.startsWith(text.slice(0, METRICS_HEADER_START.length));
  if (runBefore === undefined && !isTorn) setAside(fs, path);
  else if (runBefore !== undefined && runBefore !== run.id) branchOff(fs, path, header, text);
  const file = AppendFile.open(owner, path, { fence });
  file.truncateAfter(lastRecordOf(run), (line) => (runOfHeader(line) === undefined ? stepOfLine(line) : -Infinity));
  begin(file, header);
  return file;
}

/**
 * A run that branches off from a checkpoint of the run whose log this is begins with a copy of what they share. The
 * other log is kept under another name.
 */
function branchOff(fs: Fs, path: string, header: string, oldHeader: string): void {
  keepUnderOtherName(fs, path);
  const encoder = new TextEncoder();
  replaceFile(fs, path, (put) => {
    put(encoder.encode(header));
    for (const bytes of chunksOf(fs, path, encoder.encode(oldHeader).length + 1)) put(bytes);
  });
}
