// The process of a run: one that was killed could not say so, and its files say that it is running.
import { hostname } from "node:os";

export interface RunProcess {
  readonly pid: number;
  readonly host: string;
}

export const thisProcess = (): RunProcess => ({ pid: process.pid, host: hostname() });

/** `running` becomes `killed` where the process is gone; of one on another machine nobody here can tell. */
export function statusNow(status: string, { pid, host }: Readonly<Record<string, unknown>> | RunProcess): string {
  if (status !== "running" || typeof pid !== "number" || host !== hostname()) return status;
  return lives(pid) ? status : "killed";
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, and another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
