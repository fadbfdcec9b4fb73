// One process per run directory: a lock file that names its holder, and that a dead holder does not keep.
import { CheckpointError } from "../core/errors.ts";
import { builtin } from "../platform/builtin.ts";
import { makeDirectory, nodeFs, type DiskFs } from "./disk-files.ts";
import { codeOf, guarded, quietly } from "./problems.ts";

const LOCK = ".lock";
export const LOCK_TEMP = ".lock-";

export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** When the process started, in the system's own count: a pid is used again, a pid with its start time is not. */
  readonly started: string;
  /** Milliseconds since 1970. */
  readonly time: number;
}

export interface Lock {
  readonly file: string;
  /** May be called twice. */
  release(): void;
}

interface Process {
  readonly pid: number;
  kill(pid: number, signal: 0): void;
}

interface Node {
  readonly fs: DiskFs;
  readonly process: Process;
  readonly host: string;
  readText(path: string): string;
}

function node(fs: DiskFs): Node {
  const owner = "The lock of a run directory";
  const { readFileSync } = builtin<{ readFileSync(path: string, encoding: "utf8"): string }>(owner, "node:fs");
  return {
    fs,
    process: builtin<Process>(owner, "node:process"),
    host: builtin<{ hostname(): string }>(owner, "node:os").hostname(),
    readText: (path) => readFileSync(path, "utf8"),
  };
}

/** Locks of this process that were released, and are still there. */
const givenUp = new Set<string>();

/** Takes the lock of a directory, which is made if need be; throws a CheckpointError that names the holder. */
export function lockDirectory(dir: string, fs: DiskFs = nodeFs(), tempName: string = crypto.randomUUID()): Lock {
  const system = node(fs);
  const file = `${dir}/${LOCK}`;
  const temp = `${dir}/${LOCK_TEMP}${tempName}`;
  const { pid } = system.process;
  const holder: LockHolder = { pid, host: system.host, started: startOf(system, pid), time: Date.now() };
  const text = JSON.stringify(holder);
  makeDirectory(fs, dir);
  guarded(file, () => {
    try {
      // Written apart and linked: a lock is there with its holder's name in it, or it is not there.
      writeNew(fs, temp, text);
      for (let attempt = 0; !tryTake(fs, temp, file, text); attempt++) {
        const found = readHolder(system, file);
        const isHeld = found !== undefined && !givenUp.has(JSON.stringify(found)) && isAlive(system, found);
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
  return found !== undefined && isAlive(system, found);
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

function isAlive(system: Node, holder: LockHolder | "unreadable"): boolean {
  // Nobody can say who holds it, or whether a process on another machine lives.
  if (holder === "unreadable" || holder.host !== system.host) return true;
  try {
    system.process.kill(holder.pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
  const started = startOf(system, holder.pid);
  return started === "" || holder.started === "" || started === holder.started;
}

/** Field 22 of Linux's stat; "" elsewhere. A zombie has ended, although signals still reach it: it has no start time here. */
function startOf({ readText }: Node, pid: number): string {
  try {
    const stat = readText(`/proc/${pid}/stat`);
    // The name in parentheses may contain spaces.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" || state === "X" ? "ended" : fields[18]!;
  } catch {
    return "";
  }
}

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
