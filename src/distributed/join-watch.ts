// Ends a process that waits in MPI_Init for others that never come: that call returns to nobody, so a thread watches it.
import { startWorkerThread } from "../platform/worker-thread.ts";

export interface JoinWatch {
  /** Seconds. */
  readonly limit: number;
  readonly message: string;
}

/** Returns what ends the watch. */
export function watchJoining(size: number, limit: number): () => void {
  const message = `error: this process has waited ${limit} s for all ${size} to come to MPI. One of them hangs before it, or does something long first; HOOKLINE_MPI_TIMEOUT allows more seconds. All end now.\n`;
  const watch: JoinWatch = { limit, message };
  const thread = startWorkerThread(import.meta.url, "join-watch-worker", watch);
  thread.unref();
  // Without the thread nobody watches, and the launcher's own limits hold.
  thread.on("error", () => undefined);
  return () => void thread.terminate();
}
