// A study's journal file. Each line is synced to disk before anyone acts on it.
import { nodeFs, syncDirectory, writeDurably } from "../platform/durable-files.ts";
import { FORMATS } from "../runs/layout.ts";
import { lockDirectory, type Lock } from "../runs/lock.ts";
import { guarded, quietly } from "../platform/file-errors.ts";
import { CheckpointError } from "../core/errors.ts";
import { builtin, type Builtin } from "../platform/builtin.ts";
import { type JournalLine, type ReadLines, readLines, sealLine } from "./journal-format.ts";
import { StudyError } from "./study-errors.ts";

const JOURNAL_FILE = FORMATS.journal.file;

const fileSystem = (): Builtin<"node:fs"> => builtin("A study's `dir`", "node:fs");

export interface Journal {
  /** Written by earlier controllers of the study. */
  readonly lines: readonly JournalLine[];
  /** Durable when it returns. */
  append(line: JournalLine): void;
  close(): void;
}

/** For a study without a directory, which ends with its process. */
export const memoryJournal = (): Journal => ({ lines: [], append: () => undefined, close: () => undefined });

/** Opens the journal in a directory and locks the directory against other controllers. */
export function openJournal(dir: string): Journal {
  const lock = takeLock(dir);
  try {
    return new FileJournal(dir, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Reads a journal that its controller may be writing to. Before the first line there is no file, and no lines. */
export function readJournal(dir: string): readonly JournalLine[] {
  return readFile(`${dir}/${JOURNAL_FILE}`)?.lines ?? [];
}

class FileJournal implements Journal {
  readonly lines: readonly JournalLine[];
  readonly #dir: string;
  readonly #file: string;
  readonly #fs = fileSystem();
  readonly #lock: Lock;
  /** Undefined until the first line is written. */
  #fd: number | undefined;
  #length: number;
  /** The checksum of the last line. */
  #crc: string;

  constructor(dir: string, lock: Lock) {
    this.#dir = dir;
    this.#file = `${dir}/${JOURNAL_FILE}`;
    this.#lock = lock;
    const found = readFile(this.#file);
    this.lines = found?.lines ?? [];
    this.#length = found?.length ?? 0;
    this.#crc = found?.crc ?? "";
    if (!found) return;
    const fd = this.#fs.openSync(this.#file, "a");
    try {
      // A torn last line is truncated: its controller was killed before anyone acted on it.
      lock.fence.check();
      this.#fs.ftruncateSync(fd, this.#length);
      this.#fs.fsyncSync(fd);
    } catch (error) {
      this.#fs.closeSync(fd);
      throw error;
    }
    this.#fd = fd;
  }

  append(line: JournalLine): void {
    const { text, crc } = sealLine(line, this.#crc);
    const bytes = Buffer.from(text);
    guarded(this.#file, () => {
      this.#lock.fence.check();
      if (this.#fd === undefined) this.#create(bytes);
      else this.#write(this.#fd, bytes);
    });
    this.#length += bytes.length;
    this.#crc = crc;
  }

  close(): void {
    if (this.#fd !== undefined) this.#fs.closeSync(this.#fd);
    this.#lock.release();
  }

  /** The file appears with its header complete, so that an empty or torn file is always damage, never a crash. */
  #create(header: Uint8Array): void {
    const temporary = `${this.#file}.new`;
    const disk = nodeFs();
    quietly(() => disk.unlinkSync(temporary));
    writeDurably(disk, temporary, [header]);
    disk.renameSync(temporary, this.#file);
    syncDirectory(disk, this.#dir);
    this.#fd = this.#fs.openSync(this.#file, "a");
  }

  #write(fd: number, bytes: Uint8Array): void {
    try {
      for (let done = 0; done < bytes.length;) done += this.#fs.writeSync(fd, bytes, done);
      this.#fs.fdatasyncSync(fd);
    } catch (error) {
      // The next line must not follow half a line.
      this.#fs.ftruncateSync(fd, this.#length);
      throw error;
    }
  }
}

/** Undefined when there is none. */
function readFile(file: string): ReadLines | undefined {
  const fs = fileSystem();
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!found) return undefined;
  // Reading a pipe would block forever, and a dangling link taken for no journal would start the study over.
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return readLines(fs.readFileSync(file), file);
  const what = found.isSymbolicLink() ? "a link that leads to no file" : "not a file";
  throw new StudyError(`Study: ${file} is ${what}. Restore the file from a copy, or give the study another \`dir\`.`);
}

function takeLock(dir: string): Lock {
  try {
    return lockDirectory(dir);
  } catch (error) {
    if (!(error instanceof CheckpointError) || !error.reason.includes("uses the directory")) throw error;
    throw new StudyError(
      `Study: another controller is at work in ${dir} (${error.reason}). A study has one: wait for it or stop it.`,
      { cause: error },
    );
  }
}
