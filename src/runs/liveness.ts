// Whether a process is alive: by its mark in a file, or, where pids cannot tell, by a socket that it listens on.
import { type Builtin, builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/file-errors.ts";

/** A process as lock files and run.json name it, so that a reader can tell whether it is alive. */
export interface ProcessMark {
  readonly pid: number;
  readonly host: string;
  /** Its start time in the system's own units: a pid is reused, a pid with its start time is not. "" if unknown. */
  readonly started: string;
  /** Linux's boot id. Missing elsewhere, and in files of older versions. */
  readonly boot?: string;
  /** Linux's PID and time namespaces, without which a pid and a start time mean nothing. */
  readonly namespaces?: string;
}

/** The mark in a file; undefined when there is none. Not every file states when the process started. */
export function markIn(fields: object): ProcessMark | undefined {
  const { pid, host, boot, ...others } = fields as Readonly<Record<string, unknown>>;
  if (!Number.isSafeInteger(pid) || typeof host !== "string") return undefined;
  const text = (key: string): string => (typeof others[key] === "string" ? others[key] : "");
  const kernel = boot !== undefined && { boot: typeof boot === "string" ? boot : "", namespaces: text("namespaces") };
  return { pid: pid as number, host, started: text("started"), ...kernel };
}

/** `unknown`: it runs, or ran, on another machine or in another container. */
export type Liveness = "alive" | "dead" | "unknown";

type Fs = Builtin<"node:fs">;
const OWNER = "The lock of a directory";
const fs = (): Fs => builtin(OWNER, "node:fs");
export const hostName = (): string => builtin(OWNER, "node:os").hostname();

export function thisProcess(): ProcessMark {
  const { pid } = builtin(OWNER, "node:process");
  return { pid, host: hostName(), started: startOf(pid), ...kernelView() };
}

/** What makes pids comparable: the running kernel and the namespaces through which this process sees it. */
function kernelView(): Pick<ProcessMark, "boot" | "namespaces"> {
  try {
    const boot = fs().readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return { boot, namespaces: `${namespaceOf("pid")} ${namespaceOf("time")}` };
  } catch {
    return {};
  }
}

/** Kernels before 5.6 have no time namespaces. */
function namespaceOf(kind: "pid" | "time"): string {
  try {
    return fs().readlinkSync(`/proc/self/ns/${kind}`);
  } catch (error) {
    if (kind === "time") return "time:[]";
    throw error;
  }
}

/** Compares pids only where they mean the same: on one host and, if the mark says so, in one boot and PID namespace. */
export function livenessOf({ pid, host, started, boot, namespaces }: ProcessMark): Liveness {
  const here = boot === undefined ? {} : kernelView();
  if (host !== hostName() || boot !== here.boot || namespaces !== here.namespaces) return "unknown";
  try {
    builtin(OWNER, "node:process").kill(pid, 0);
  } catch (error) {
    // EPERM: it exists, and belongs to another user.
    if (codeOf(error) !== "EPERM") return "dead";
  }
  const now = startOf(pid);
  return now === "" || started === "" || now === started ? "alive" : "dead";
}

/** Unknown counts as alive. */
export const isAlive = (mark: ProcessMark): boolean => livenessOf(mark) !== "dead";

/** Field 22 of Linux's stat; "" elsewhere. A zombie has ended, although signals still reach it: it has no start time here. */
function startOf(pid: number): string {
  const fields = statOf(pid);
  if (!fields) return "";
  return hasEnded(fields) ? "ended" : fields[19]!;
}

/** Linux's stat of a process, from its state on: the third field. Undefined elsewhere, and where there is none. */
export function statOf(pid: number): readonly string[] | undefined {
  try {
    const stat = fs().readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain spaces.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

export const hasEnded = ([state]: readonly string[]): boolean => state === "Z" || state === "X";

/** The prefix of the sockets of lock holders, past and present. */
const PREFIX = ".alive-";
const nameOf = (token: string): string => `${PREFIX}${token}.lock`;
const pathIn = (dir: string, token: string): string => `${dir}/${nameOf(token)}`;

/**
 * Listens on a socket beside the lock until it is closed or the process ends: the kernel closes it however that happens.
 * Other processes connect to it where pids cannot tell: in another container, or after another boot. Does nothing on a
 * file system without sockets.
 */
export function announce(dir: string, token: string): { close(): void } {
  const server = builtin(OWNER, "node:net").createServer((socket) => socket.destroy());
  server.on("error", () => undefined);
  server.unref();
  withShortPath(dir, token, (path) => server.listen({ path, exclusive: true }));
  return {
    close() {
      server.close();
      fs().rmSync(pathIn(dir, token), { force: true });
    },
  };
}

/** Removes the sockets of dead holders. Only for the holder of the lock. */
export function removeOthers(dir: string, token: string): void {
  for (const name of fs().readdirSync(dir))
    if (name.startsWith(PREFIX) && name !== nameOf(token)) fs().rmSync(`${dir}/${name}`, { force: true });
}

/**
 * Asks the kernel. Only a local file system gives an answer: it is mounted by one kernel at a time, and all its mounts
 * show the same files. On a network, the holder may listen on another machine or through another mount.
 */
export function ask(dir: string, token: string): Liveness {
  if (!isLocal(dir)) return "unknown";
  return withShortPath(dir, token, probe) ?? "unknown";
}

/** A socket's path has at most 108 bytes, so it is addressed through an open descriptor of its directory. */
function withShortPath<T>(dir: string, token: string, use: (path: string) => T): T | undefined {
  try {
    const fd = fs().openSync(dir, "r");
    try {
      return use(pathIn(`/proc/self/fd/${fd}`, token));
    } finally {
      fs().closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

const ANSWERS: readonly Liveness[] = ["unknown", "alive", "dead"];
const PROBE_TIMEOUT_MS = 10_000;

/** A stopped process accepts connections too: the kernel does so for it. A full queue (EAGAIN) has an owner. */
const PROBE = `const builtin = process.getBuiltinModule;
const { workerData: { path, cell } } = builtin("node:worker_threads");
const answer = (value) => { Atomics.store(cell, 0, value); Atomics.notify(cell, 0); };
const CODES = { ECONNREFUSED: 2, EAGAIN: 1 };
builtin("node:net").connect(path)
  .on("connect", function () { answer(1); this.destroy(); })
  .on("error", ({ code }) => answer(CODES[code] ?? 3));`;

/** Connects in a thread while this one waits, since a lock is taken synchronously. */
function probe(path: string): Liveness {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const { Worker } = builtin(OWNER, "node:worker_threads");
  const worker = new Worker(PROBE, { eval: true, execArgv: [], workerData: { path, cell } });
  worker.on("error", () => undefined);
  Atomics.wait(cell, 0, 0, PROBE_TIMEOUT_MS);
  void worker.terminate();
  return ANSWERS[Atomics.load(cell, 0)] ?? "unknown";
}

/** Types in `statfs` of file systems that only one machine mounts. */
const LOCAL_TYPES: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0xca451a4e, // bcachefs
  0x01021994, // tmpfs
  0x794c7630, // overlayfs, whose upper layer is one of these
]);

function isLocal(dir: string): boolean {
  try {
    return LOCAL_TYPES.has(fs().statfsSync(dir).type);
  } catch {
    return false;
  }
}
