// One process per run directory: a lock file that names its holder, and that a dead holder does not keep.
import { CheckpointError } from "../core/errors.ts";
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/error-code.ts";
import { makeDirectory, nodeFs, type DiskFs } from "./disk-files.ts";
import { guarded, quietly } from "./problems.ts";
import { isAlive, thisProcess, type ProcessMark } from "./process-mark.ts";

const LOCK = ".lock";
export const LOCK_TEMP = ".lock-";

export interface LockHolder extends ProcessMark {
  /** Milliseconds since 1970. */
  readonly time: number;
}

export interface Lock {
  readonly file: string;
  /** May be called twice. */
  release(): void;
}

interface Node {
  readonly fs: DiskFs;
  readText(path: string): string;
}

function node(fs: DiskFs): Node {
  const owner = "The lock of a run directory";
  const { readFileSync } = builtin<{ readFileSync(path: string, encoding: "utf8"): string }>(owner, "node:fs");
  return { fs, readText: (path) => readFileSync(path, "utf8") };
}

/** Locks of this process that were released, and are still there. */
const givenUp = new Set<string>();

/** Takes the lock of a directory, which is made if need be; throws a CheckpointError that names the holder. */
export function lockDirectory(dir: string, fs: DiskFs = nodeFs(), tempName: string = crypto.randomUUID()): Lock {
  const system = node(fs);
  const file = `${dir}/${LOCK}`;
  const temp = `${dir}/${LOCK_TEMP}${tempName}`;
  const holder: LockHolder = { ...thisProcess(), time: Date.now() };
  const text = JSON.stringify(holder);
  makeDirectory(fs, dir);
  guarded(file, () => {
    try {
      // Written apart and linked: a lock is there with its holder's name in it, or it is not there.
      writeNew(fs, temp, text);
      for (let attempt = 0; !tryTake(fs, temp, file, text); attempt++) {
        const found = readHolder(system, file);
        const isHeld = found !== undefined && !givenUp.has(JSON.stringify(found)) && mayLive(found);
        if (found !== undefined && (attempt >= 3 || isHeld)) throw heldBy(file, found, holder);
        if (found !== undefined) takeAway(system, file, `${temp}-stale`, found);
      }
    } finally {
      quietly(() => fs.unlinkSync(temp));
    }
  });
  let held = true;
  return {
    file,
    release: () => {
      if (!held) return;
      held = false;
      try {
        // Somebody may have deleted it by hand, and another run may have taken it since.
        if (system.readText(file) === text) fs.unlinkSync(file);
      } catch {
        // The disk keeps it: it is given up all the same.
        givenUp.add(text);
      }
    },
  };
}

/** Whether a process holds the lock of a directory that lives, or on another machine may live. */
export function isLocked(dir: string, fs: DiskFs = nodeFs()): boolean {
  const system = node(fs);
  const found = readHolder(system, `${dir}/${LOCK}`);
  return found !== undefined && mayLive(found);
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
  // File systems without hard links: exclusive, but for a moment without a name in it.
  try {
    writeNew(fs, file, text);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Who holds the lock; undefined when it was released meanwhile. */
function readHolder({ readText }: Node, file: string): LockHolder | "unreadable" | undefined {
  let text: string;
  try {
    text = readText(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { pid, host, started, time } = JSON.parse(text) as Partial<LockHolder>;
    if (Number.isSafeInteger(pid) && typeof host === "string") {
      return { pid: pid!, host, started: String(started), time: Number(time) };
    }
  } catch {
    // Not ours, or damaged: see below.
  }
  return "unreadable";
}

/** One that names no holder is somebody's, who may live. */
const mayLive = (holder: LockHolder | "unreadable"): boolean => holder === "unreadable" || isAlive(holder);

/** Moves a dead holder's lock away; when another process was faster and it is a live one, puts it back. */
function takeAway(system: Node, file: string, to: string, stale: LockHolder | "unreadable"): void {
  const { fs } = system;
  try {
    fs.renameSync(file, to);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  if (JSON.stringify(readHolder(system, to)) !== JSON.stringify(stale)) quietly(() => fs.linkSync(to, file));
  fs.unlinkSync(to);
}

function heldBy(file: string, found: LockHolder | "unreadable", me: LockHolder): CheckpointError {
  if (found === "unreadable") {
    return new CheckpointError(
      file,
      "it is locked, and the lock names no holder",
      "Delete this file if no run uses the directory.",
    );
  }
  if (found.pid === me.pid && found.host === me.host) {
    return new CheckpointError(
      file,
      "this process uses the directory already",
      "Close the other store or trainer first.",
    );
  }
  const since = Number.isFinite(found.time) ? ` since ${new Date(found.time).toISOString()}` : "";
  return new CheckpointError(
    file,
    `process ${found.pid} on ${found.host} uses the directory${since}`,
    found.host === me.host
      ? "Wait for it or stop it, or give this run another directory."
      : "Give this run another directory; if that machine is gone, delete this file.",
  );
}
