// The thread of join-watch.ts: when the time is over, it says so and ends the process, since the main thread cannot.
import { builtin } from "../platform/builtin.ts";
import type { JoinWatch } from "./mpi.ts";

const { workerData } = builtin<{ readonly workerData: JoinWatch }>("The watch", "node:worker_threads");
const { writeSync } = builtin<{ writeSync(fd: number, text: string): void }>("The watch", "node:fs");
const { pid, kill } = builtin<{ readonly pid: number; kill(pid: number, signal: string): void }>(
  "The watch",
  "node:process",
);

/** Timers count no further. */
const LONGEST_MS = 2 ** 31 - 1;

setTimeout(
  () => {
    writeSync(2, workerData.message);
    kill(pid, "SIGKILL");
  },
  Math.min(workerData.limit * 1000, LONGEST_MS),
);
