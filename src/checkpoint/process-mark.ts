// A process as files name it, so that whoever finds such a file can tell whether it still lives.
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/error-code.ts";

export interface ProcessMark {
  readonly pid: number;
  readonly host: string;
  /** When it started, in the system's own count: a pid is used again, a pid with its start time is not. "" where unknown. */
  readonly started: string;
}

interface Process {
  readonly pid: number;
  kill(pid: number, signal: 0): void;
}

const OWNER = "Looking for a process";
export const hostName = (): string => builtin<{ hostname(): string }>(OWNER, "node:os").hostname();

export function thisProcess(): ProcessMark {
  const { pid } = builtin<Process>(OWNER, "node:process");
  return { pid, host: hostName(), started: startOf(pid) };
}

/** Also where nobody here can say: of a process on another machine. */
export function isAlive({ pid, host, started }: ProcessMark): boolean {
  if (host !== hostName()) return true;
  try {
    builtin<Process>(OWNER, "node:process").kill(pid, 0);
  } catch (error) {
    // Otherwise it is there, and another user's.
    if (codeOf(error) !== "EPERM") return false;
  }
  const now = startOf(pid);
  return now === "" || started === "" || now === started;
}

/** Field 22 of Linux's stat; "" elsewhere. A zombie has ended, although signals still reach it: it has no start time here. */
function startOf(pid: number): string {
  try {
    const { readFileSync } = builtin<{ readFileSync(path: string, encoding: "utf8"): string }>(OWNER, "node:fs");
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain spaces.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" || state === "X" ? "ended" : fields[18]!;
  } catch {
    return "";
  }
}
