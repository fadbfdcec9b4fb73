// A process as files name it, so that a reader of such a file can tell whether the process still lives.
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/error-code.ts";

export interface ProcessMark {
  readonly pid: number;
  readonly host: string;
  /** When it started, in the system's own count: a pid is reused, a pid with its start time is not. "" where unknown. */
  readonly started: string;
  /** Linux's boot id. Missing elsewhere, and in files of older versions. */
  readonly boot?: string;
  /** Linux's PID and time namespaces, without which a pid and a start time mean nothing. */
  readonly namespaces?: string;
}

/** `unknown`: it runs, or ran, where this process cannot look. */
export type Liveness = "alive" | "dead" | "unknown";

interface Process {
  readonly pid: number;
  kill(pid: number, signal: 0): void;
}

interface Fs {
  readFileSync(path: string, encoding: "utf8"): string;
  readlinkSync(path: string): string;
}

const OWNER = "Looking for a process";
const fs = (): Fs => builtin<Fs>(OWNER, "node:fs");
export const hostName = (): string => builtin<{ hostname(): string }>(OWNER, "node:os").hostname();

export function thisProcess(): ProcessMark {
  const { pid } = builtin<Process>(OWNER, "node:process");
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
    builtin<Process>(OWNER, "node:process").kill(pid, 0);
  } catch (error) {
    // EPERM: it exists, and belongs to another user.
    if (codeOf(error) !== "EPERM") return "dead";
  }
  const now = startOf(pid);
  return now === "" || started === "" || now === started ? "alive" : "dead";
}

/** What cannot be decided counts as alive. */
export const isAlive = (mark: ProcessMark): boolean => livenessOf(mark) !== "dead";

/** Field 22 of Linux's stat; "" elsewhere. A zombie has ended, although signals still reach it: it has no start time here. */
function startOf(pid: number): string {
  try {
    const stat = fs().readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain spaces.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" || state === "X" ? "ended" : fields[18]!;
  } catch {
    return "";
  }
}
