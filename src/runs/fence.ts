// Fencing: a writer to a locked directory checks, right before each commit, that it still owns the lock.
import { LockLostError } from "../core/errors.ts";
import type { LockMark } from "../core/saving.ts";
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/file-errors.ts";

/** Milliseconds. A process that breaks a stale lock may move a new holder's lock away for a moment, and puts it back. */
const PUT_BACK_MS = 50;
const PUT_BACK_LOOKS = 4;

export class Fence {
  readonly mark: LockMark;
  #lost: LockLostError | undefined;

  constructor(mark: LockMark) {
    this.mark = mark;
  }

  /** Throws a LockLostError once the lock is gone or owned by another process, and on every later call. */
  check(): void {
    if (this.#lost) throw this.#lost;
    const { file, text } = this.mark;
    let found = readLock(file);
    for (let looks = 0; found === undefined && looks < PUT_BACK_LOOKS; looks++) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PUT_BACK_MS);
      found = readLock(file);
    }
    if (found === text) return;
    const why = found === undefined ? "the lock was removed" : `${holderIn(found)} has taken the lock`;
    throw (this.#lost = new LockLostError(file, `${why} while this process was writing to the directory`));
  }
}

/** The content of a lock file; undefined if there is none, null for anything that is not a plain file. */
export function readLock(file: string): string | null | undefined {
  const fs = builtin("The lock of a directory", "node:fs");
  try {
    if (!fs.lstatSync(file).isFile()) return null;
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function holderIn(text: string | null): string {
  try {
    const { pid, host } = JSON.parse(text ?? "") as { pid?: unknown; host?: unknown };
    if (typeof pid === "number" && typeof host === "string") return `process ${pid} on ${host}`;
  } catch {
    // Not one of our locks.
  }
  return "something else";
}
