// The run directory's own record: metrics.jsonl, events.jsonl and run.json. `readRun` reads them.
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { Fence } from "../runs/fence.ts";
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
import type { RunFacts, RunInfo } from "../runs/types.ts";
import {
  EVENTS_SCHEMA,
  METRICS_SCHEMA,
  eventLine,
  headerLine,
  lastRecordOf,
  recordLine,
  runOfHeader,
  stepOfLine,
} from "../runs/log-lines.ts";
import { threadedBackend } from "./threaded-backend.ts";
import { writeRunBegin, writeRunEnd } from "../runs/run-json.ts";

/** Options of `jsonl`. */
export interface JsonlOptions {
  /** Default: the trainer's `runDir`. */
  readonly dir?: string;
  readonly name?: string;
}

/**
 * Writes every record as a line of JSON to `<runDir>/metrics.jsonl`, what happens to `events.jsonl`, and what the run is
 * to `run.json`. A run that goes on from a checkpoint goes on in the same files.
 * @example jsonl()
 */
export const jsonl = /* @__PURE__ */ component(
  { kind: "logger", name: "jsonl", takes: () => ({ options: { dir: is.pathToWrite, name: is.name } }) },
  (options: JsonlOptions = {}): FileBackend => {
    const { name = "jsonl", dir } = options;
    return threadedBackend({ name, kind: "jsonl", make: jsonlFiles, settings: () => ({ name, dir }) });
  },
);

/** The files of one run. */
export function jsonlFiles({ name, dir: given }: FileSettings): FileBackend {
  let metrics: AppendFile | undefined;
  let events: AppendFile | undefined;
  let info: RunInfo | undefined;
  let fence: Fence | undefined;
  let dir = "";

  return {
    name,
    open(run) {
      dir = directoryOf(name, given ?? run.dir);
      const fs = nodeFs(name);
      fence = run.lock && new Fence(run.lock);
      fence?.check();
      makeDirectory(fs, dir);
      if (run.resumedAt === undefined) for (const file of FILES) setAside(fs, `${dir}/${file}`);
      info = writeRunBegin(fs, dir, run);
      metrics = openMetrics(name, fs, `${dir}/metrics.jsonl`, run, fence);
      events = AppendFile.open(name, `${dir}/events.jsonl`, { fence });
      begin(events, headerLine(EVENTS_SCHEMA, run));
    },
    log: (record) => metrics?.append(recordLine(record)),
    event: (event) => events?.append(eventLine(event)),
    async flush() {
      await Promise.all([metrics?.flush(), events?.flush()]);
    },
    flushSync() {
      metrics?.flushSync();
      events?.flushSync();
    },
    async close(end) {
      const closed = await Promise.allSettled([metrics?.close(), events?.close()]);
      fence?.check();
      if (info) writeRunEnd(nodeFs(name), dir, info, end);
      for (const result of closed) if (result.status === "rejected") throw result.reason;
    },
  };
}

const FILES = ["run.json", "metrics.jsonl", "events.jsonl"];

/** A header at once: what is wrong with the disk shows before the first step. */
function begin(file: AppendFile, header: string): void {
  if (file.size > 0) return;
  file.append(header);
  file.flushSync();
}

/** What was logged after the checkpoint will be logged again, so it is removed. */
function openMetrics(owner: string, fs: Fs, path: string, run: RunFacts, fence: Fence | undefined): AppendFile {
  const header = headerLine(METRICS_SCHEMA, run);
  const { text, isWhole } = firstLine(fs, path);
  const runBefore = isWhole ? runOfHeader(text) : undefined;
  // A kill may have come while the header was written.
  const isTorn = !isWhole && header.startsWith(text.slice(0, `{"schema":"${METRICS_SCHEMA}"`.length));
  if (runBefore === undefined && !isTorn) setAside(fs, path);
  else if (runBefore !== undefined && runBefore !== run.id) branchOff(fs, path, header, text);
  const file = AppendFile.open(owner, path, { fence });
  file.truncateAfter(lastRecordOf(run), (line) => (runOfHeader(line) === undefined ? stepOfLine(line) : -Infinity));
  begin(file, header);
  return file;
}

/**
 * Another run goes on from a checkpoint of the one whose file this is: it begins with a copy of what they share, and the
 * other's file stays under another name.
 */
function branchOff(fs: Fs, path: string, header: string, oldHeader: string): void {
  keepUnderOtherName(fs, path);
  const encoder = new TextEncoder();
  replaceFile(fs, path, (put) => {
    put(encoder.encode(header));
    for (const bytes of chunksOf(fs, path, encoder.encode(oldHeader).length + 1)) put(bytes);
  });
}
