// One process per directory: a lock file that names its holder. The lock of a dead holder can be taken over; liveness.ts
// decides whether it is dead.
import { CheckpointError } from "../core/errors.ts";
import { builtin } from "../platform/builtin.ts";
import { codeOf, guarded, quietly } from "../platform/file-errors.ts";
import { Fence, readLock } from "./fence.ts";
import { makeDirectory, nodeFs, type DiskFs } from "../platform/durable-files.ts";
import { CHECKPOINTS, LOCK_FILE } from "./layout.ts";
import {
  type Liveness,
  type ProcessMark,
  announce,
  ask,
  livenessOf,
  markIn,
  removeOthers,
  thisProcess,
} from "./liveness.ts";

export const LOCK_TEMP = ".lock-";

/** Retries when a lock vanishes before it can be read. */
const ATTEMPTS = 100;

/** The process that took a lock. */
export interface LockHolder extends ProcessMark {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Random, for each time that a lock is taken. Locks of older versions have none. */
  readonly token?: string;
}

export interface Lock {
  readonly file: string;
  /** Every writer to the directory checks it before a commit. */
  readonly fence: Fence;
  /** May be called twice. */
  release(): void;
}

/** The lock of a directory, and whether the process that it names is alive. */
export interface FoundLock {
  readonly file: string;
  /** Undefined when the file names nobody. */
  readonly holder: LockHolder | undefined;
  readonly liveness: Liveness;
}

/** Locks that this process released but could not delete. */
const givenUp = new Set<string>();

/** Takes the lock of a directory, which is created if needed. Throws a CheckpointError that names the holder. */
export function lockDirectory(dir: string, fs: DiskFs = nodeFs(), token: string = crypto.randomUUID()): Lock {
  const file = `${dir}/${LOCK_FILE}`;
  const temp = `${dir}/${LOCK_TEMP}${token}`;
  const holder: LockHolder = { ...thisProcess(), time: Date.now(), token };
  const text = JSON.stringify(holder);
  makeDirectory(fs, dir);
  const presence = announce(dir, token);
  try {
    guarded(file, () => take(fs, dir, { file, temp, text, holder }));
  } catch (error) {
    presence.close();
    throw error;
  }
  quietly(() => removeOthers(dir, token));
  let held = true;
  return {
    file,
    fence: new Fence({ file, text }),
    release: () => {
      if (!held) return;
      held = false;
      try {
        // The lock may have been removed by hand and taken by another process since.
        if (readLock(file) === text) fs.unlinkSync(file);
      } catch {
        // It cannot be deleted, so this process remembers that it is released.
        givenUp.add(text);
      }
      quietly(() => presence.close());
    },
  };
}

interface Taking {
  readonly file: string;
  readonly temp: string;
  readonly text: string;
  readonly holder: LockHolder;
}

function take(fs: DiskFs, dir: string, { file, temp, text, holder }: Taking): void {
  try {
    // Written under another name and linked, so that the lock exists with its content or not at all.
    writeNew(fs, temp, text);
    for (let attempt = 0; !tryTake(fs, temp, file, text); attempt++) {
      const content = readLock(file);
      if (content === undefined && attempt < ATTEMPTS) continue;
      const found = foundIn(dir, content);
      if (found.liveness !== "dead" || attempt >= ATTEMPTS) throw heldBy(dir, found, holder);
      takeAway(fs, file, `${temp}-stale`, content);
    }
  } finally {
    quietly(() => fs.unlinkSync(temp));
  }
}

/** The lock of a directory, if there is one. */
export function findLock(dir: string): FoundLock | undefined {
  const content = readLock(`${dir}/${LOCK_FILE}`);
  return content === undefined ? undefined : foundIn(dir, content);
}

/** Throws the error of `lockDirectory` when a process holds the lock, or may hold it; changes nothing. */
export function checkUnlocked(dir: string): void {
  const found = findLock(dir);
  if (found && found.liveness !== "dead") throw heldBy(dir, found, thisProcess());
}

/**
 * The process that uses the directory of a run or of a study, as its lock names it; undefined when there is no lock. A
 * run has one once it can save checkpoints.
 */
export const findOwner = (dir: string): FoundLock | undefined => findLock(dir) ?? findLock(`${dir}/${CHECKPOINTS}`);

/** Whether a process holds the lock of a directory, or may hold it. */
export function isLocked(dir: string): boolean {
  const found = findLock(dir);
  return found !== undefined && found.liveness !== "dead";
}

/** Removes the lock of a directory, even a held one: a live holder notices before it writes again. */
export function breakLock(dir: string): void {
  const file = `${dir}/${LOCK_FILE}`;
  guarded(file, () => nodeFs().unlinkSync(file));
}

function foundIn(dir: string, content: string | null | undefined): FoundLock {
  const file = `${dir}/${LOCK_FILE}`;
  const holder = parseHolder(content);
  // A lock without a holder's name may be held.
  if (!holder) return { file, holder, liveness: "unknown" };
  if (givenUp.has(content!)) return { file, holder, liveness: "dead" };
  const known = livenessOf(holder);
  const { token } = holder;
  return { file, holder, liveness: known === "unknown" && token !== undefined ? ask(dir, token) : known };
}

function parseHolder(content: string | null | undefined): LockHolder | undefined {
  try {
    const fields = JSON.parse(content ?? "") as Readonly<Record<string, unknown>>;
    const { token, time } = fields;
    const mark = markIn(fields);
    return (
      mark && {
        ...mark,
        time: Number(time),
        // It becomes part of a path.
        ...(typeof token === "string" && /^[\w-]{1,64}$/.test(token) && { token }),
      }
    );
  } catch {
    return undefined;
  }
}

function writeNew(fs: DiskFs, path: string, text: string): void {
  const fd = fs.openSync(path, "wx");
  try {
    const bytes = new TextEncoder().encode(text);
    fs.writeSync(fd, bytes, 0, bytes.byteLength);
  } finally {
    fs.closeSync(fd);
  }
}

function tryTake(fs: DiskFs, temp: string, file: string, text: string): boolean {
  try {
    fs.linkSync(temp, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(codeOf(error) ?? "")) throw error;
  }
  // File systems without hard links: exclusive, but empty for a moment.
  try {
    writeNew(fs, file, text);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Removes a dead holder's lock. If another process was faster and this is its live lock, puts it back. */
function takeAway(fs: DiskFs, file: string, to: string, stale: string | null | undefined): void {
  try {
    fs.renameSync(file, to);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  if (readLock(to) !== stale) quietly(() => fs.linkSync(to, file));
  fs.unlinkSync(to);
}

function heldBy(dir: string, { file, holder, liveness }: FoundLock, me: ProcessMark): CheckpointError {
  if (!holder) {
    return new CheckpointError(
      file,
      "it is locked, and the lock names no holder",
      `Delete this file if no run uses the directory (\`npx hookline unlock ${userDirectory(dir)} --force\`).`,
    );
  }
  const seesPids = holder.boot === undefined || (holder.boot === me.boot && holder.namespaces === me.namespaces);
  const isHere = seesPids && holder.host === me.host;
  if (isHere && holder.pid === me.pid) {
    return new CheckpointError(
      file,
      "this process uses the directory already",
      "Close the other store or trainer first.",
    );
  }
  const where = seesPids || holder.host !== me.host ? "" : " of another container or an earlier boot";
  const who = `process ${holder.pid}${where} on ${holder.host}`;
  return new CheckpointError(
    file,
    `${who} uses the directory${sinceOf(holder)}`,
    liveness === "alive"
      ? "Wait for it or stop it, or give this run another directory."
      : `Nothing here can tell whether it still runs. Give this run another directory; if that machine is gone, delete this file (\`npx hookline unlock ${userDirectory(dir)}\`).`,
  );
}

/** ` since 2026-…`, if the lock has a time. */
export const sinceOf = ({ time }: LockHolder): string =>
  Number.isFinite(time) && Math.abs(time) <= 8.64e15 ? ` since ${new Date(time).toISOString()}` : "";

/** The directory as users know it: checkpoints are in a folder of the run directory. */
function userDirectory(dir: string): string {
  const { basename, dirname, relative } = builtin("The lock of a directory", "node:path");
  const run = basename(dir) === CHECKPOINTS ? dirname(dir) : dir;
  const shown = relative(".", run);
  return shown.startsWith("..") || shown === "" ? run : shown;
}
