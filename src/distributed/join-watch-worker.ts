// The thread of join-watch.ts: when the time is over, it says so and ends the process, since the main thread cannot.
import { builtin } from "../platform/builtin.ts";
import type { JoinWatch } from "./mpi.ts";

const { message, limit } = builtin("The watch", "node:worker_threads").workerData as JoinWatch;
const { writeSync } = builtin("The watch", "node:fs");
const { pid, kill } = builtin("The watch", "node:process");

/** Timers count no further. */
const LONGEST_MS = 2 ** 31 - 1;

setTimeout(
  () => {
    writeSync(2, message);
    kill(pid, "SIGKILL");
  },
  Math.min(limit * 1000, LONGEST_MS),
);
