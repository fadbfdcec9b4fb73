// The process of a run: one that was killed could not say so, and its files say that it is running.
import { isAlive, type ProcessMark } from "../../runs/liveness.ts";

/** `running` becomes `killed` where the process is gone; of one on another machine nobody here can tell. */
export function statusNow(status: string, process: Readonly<Record<string, unknown>> | ProcessMark): string {
  const { pid, host, started } = process;
  if (status !== "running" || typeof pid !== "number" || typeof host !== "string") return status;
  // Not every file says when the process started: then its pid must do.
  return isAlive({ pid, host, started: typeof started === "string" ? started : "" }) ? status : "killed";
}
