// A study's journal: a file with a JSON object a line, each of them on the disk before anyone acts upon it.
import { nodeFs, syncDirectory } from "../checkpoint/disk-files.ts";
import { lockDirectory, type Lock } from "../checkpoint/lock.ts";
import { guarded } from "../checkpoint/problems.ts";
import { CheckpointError } from "../core/errors.ts";
import { builtin } from "../platform/builtin.ts";
import type { JournalLine } from "./journal-entry.ts";
import { parseExact, stringifyExact } from "../core/exact-json.ts";
import { StudyError } from "./study-error.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;

export const JOURNAL_FILE = "journal.jsonl";

export interface Journal {
  /** What earlier controllers of the study wrote. */
  readonly lines: readonly JournalLine[];
  /** Durable when it returns. */
  append(line: JournalLine): void;
  close(): void;
}

/** Of a study without a directory: it is gone with its process. */
export const memoryJournal = (): Journal => ({ lines: [], append: () => undefined, close: () => undefined });

/** Opens the journal in a directory and keeps others out of it. */
export function openJournal(dir: string): Journal {
  const fs = builtin<Fs>("A study's `dir`", "node:fs");
  const file = `${dir}/${JOURNAL_FILE}`;
  const lock = takeLock(dir);
  try {
    const bytes = fs.existsSync(file) ? fs.readFileSync(file) : Buffer.alloc(0);
    // What comes after the last line break was being written when the controller was killed: nobody has acted upon it.
    const whole = bytes.lastIndexOf(10) + 1;
    const lines = parse(bytes.toString("utf8", 0, whole), file);
    const fd = fs.openSync(file, "a");
    if (whole < bytes.length) fs.ftruncateSync(fd, whole);
    fs.fsyncSync(fd);
    syncDirectory(nodeFs(), dir);
    return {
      lines,
      append(line) {
        const text = Buffer.from(`${stringifyExact(line)}\n`);
        guarded(file, () => {
          for (let done = 0; done < text.length;) done += fs.writeSync(fd, text, done);
          fs.fdatasyncSync(fd);
        });
      },
      close() {
        fs.closeSync(fd);
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** What a journal says so far, while its controller may be at work. */
export function readJournal(dir: string): readonly JournalLine[] {
  const file = `${dir}/${JOURNAL_FILE}`;
  const text = builtin<Fs>("A study's `dir`", "node:fs").readFileSync(file, "utf8");
  return parse(text.slice(0, text.lastIndexOf("\n") + 1), file);
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

function parse(text: string, file: string): JournalLine[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line, i) => {
      try {
        return parseExact(line) as JournalLine;
      } catch (cause) {
        throw new StudyError(
          `Study: ${file}:${i + 1} is damaged. Restore the file from a copy, or give the study another \`dir\`.`,
          { cause },
        );
      }
    });
}
