// Event files from before: a resumed run removes the records that it will log again, and the end of the session, because
// TensorBoard takes the first end that it reads for the run's. A new run moves the files of another run aside.
import { type Builtin, builtin } from "../../platform/builtin.ts";
import { lastRecordOf } from "../../runs/log-lines.ts";
import type { LastRecord, RunFacts } from "../../runs/types.ts";
import type { Warn } from "../backend.ts";
import { eventsIn, type FileEvent } from "./read-events.ts";
import { lastRecord } from "./record.ts";
import { SESSION_END } from "./events.ts";
import { codeOf } from "../../platform/file-errors.ts";

type FsPromises = Builtin<"node:fs/promises">;
type FileHandle = Awaited<ReturnType<FsPromises["open"]>>;

/** The end of a session is the last record of its file, and shorter than this. */
const LONGEST_END = 256;

/** The suffix of a run's event files, by which those of other runs in the folder are left alone. */
export const runSuffix = ({ id }: Pick<RunFacts, "id">): string => (id === "" ? "" : `.${id.replace(/[^\w-]/g, "-")}`);

/** The newest event file of a run; undefined when there is none that is known to be the run's. */
export async function newestFile(owner: string, folder: string, run: RunFacts): Promise<string | undefined> {
  const fs = builtin(owner, "node:fs/promises");
  const suffix = runSuffix(run);
  const names = suffix === "" ? [] : await fs.readdir(folder).catch(() => []);
  const newest = names
    .filter((name) => name.includes("tfevents") && name.endsWith(suffix))
    .sort()
    .at(-1);
  return newest === undefined ? undefined : builtin(owner, "node:path").join(folder, newest);
}

/** Returns the scalars that the files have for the last kept step. */
export async function cutEarlierParts(
  owner: string,
  folder: string,
  run: RunFacts,
  warn: Warn,
): Promise<ReadonlyMap<string, number>> {
  const fs = builtin(owner, "node:fs/promises");
  const { join } = builtin(owner, "node:path");
  const entries = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile() && entry.name.includes("tfevents")).map(({ name }) => name);
  const suffix = runSuffix(run);
  const cut = new Cut(lastRecordOf(run));
  // From the newest to the oldest, until one whose records all come before the step.
  let isDone = suffix === "";
  const own: string[] = [];
  const change = async (path: string, what: (file: FileHandle) => Promise<void>): Promise<void> => {
    try {
      const file = await fs.open(path, "r+");
      await what(file).finally(() => file.close());
    } catch (error) {
      warn(
        `${path} is an earlier part of the run that is resumed, and could not be changed: ${(error as Error).message}. TensorBoard may show records twice, or how that part ended.`,
      );
    }
  };
  for (const name of names.sort().toReversed()) {
    const path = join(folder, name);
    if (isDone || !name.endsWith(suffix)) await change(path, dropEnd);
    else
      await change(path, async (file) => {
        own.unshift(path);
        isDone = (await startOf(file)) <= cut.last.step;
      });
  }
  for (const path of own) await change(path, (file) => cut.apply(file));
  return cut.shown;
}

/** Counts the records of the last step over all files of the run, oldest first. */
class Cut {
  readonly last: LastRecord;
  readonly shown = new Map<string, number>();
  #count = 0;

  constructor(last: LastRecord) {
    this.last = last;
  }

  async apply(file: FileHandle): Promise<void> {
    /** Where the end of the session begins, if no kept record follows it: a second `fit` appends to the file. */
    let end: number | undefined;
    for await (const event of eventsOf(file)) {
      if (event.kind === "sessionEnd") end ??= event.at;
      else if (!this.#keeps(event)) return file.truncate(end ?? event.at);
      else if (event.kind === "record") end = undefined;
    }
    if (end !== undefined) await file.truncate(end);
  }

  #keeps({ kind, step, scalars }: FileEvent): boolean {
    if (kind !== "record") return true;
    // After the last record, even if that has an earlier step, as an evaluation of the best checkpoint has.
    if (this.#count >= Math.max(1, this.last.count)) return false;
    if (step < this.last.step) return true;
    if (step > this.last.step || ++this.#count > this.last.count) return false;
    for (const [tag, value] of scalars()) this.shown.set(tag, value);
    return true;
  }
}

/** The step from which this part of the run logs. */
async function startOf(file: FileHandle): Promise<number> {
  for await (const { kind, step } of eventsOf(file)) if (kind === "start") return step;
  return Infinity;
}

async function* eventsOf(file: FileHandle): AsyncGenerator<FileEvent> {
  const { size } = await file.stat();
  const read = async (at: number, length: number): Promise<Uint8Array> => {
    const { buffer, bytesRead } = await file.read(new Uint8Array(Math.min(length, size - at)), { position: at });
    return buffer.subarray(0, bytesRead);
  };
  yield* eventsIn(read, size, SESSION_END);
}

async function dropEnd(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  const tail = new Uint8Array(Math.min(size, LONGEST_END));
  const start = size - tail.length;
  await file.read(tail, 0, tail.length, start);
  const at = lastRecord(tail);
  if (at === undefined || !new TextDecoder("latin1").decode(tail.subarray(at)).includes(SESSION_END)) return;
  await file.truncate(start + at);
}

/** Moves another run's event files to `<folder>.1`, or the next free number: for TensorBoard a folder is one run. */
export async function setEventFilesAside(owner: string, folder: string): Promise<void> {
  const fs = builtin(owner, "node:fs/promises");
  const entries = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && entry.name.includes("tfevents"));
  if (files.length === 0) return;
  const aside = await newFolder(fs, folder);
  for (const { name } of files) await fs.rename(`${folder}/${name}`, `${aside}/${name}`);
}

async function newFolder(fs: FsPromises, folder: string): Promise<string> {
  for (let n = 1; ; n++) {
    const free = `${folder.replace(/[/\\]+$/, "")}.${n}`;
    try {
      await fs.mkdir(free);
      return free;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
}
