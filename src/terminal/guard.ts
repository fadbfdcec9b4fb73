// Leaves the terminal in order when the process ends before the run does.

/** Signals that end a process by default, without a word to anyone. */
const DEADLY = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface GuardedProcess {
  readonly pid: number;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  listenerCount(event: string): number;
  kill(pid: number, signal: string): unknown;
}

/** Calls `restore` when the process exits, fails or is told to end. Returns the undo. */
export function guard(process: GuardedProcess, restore: () => void): () => void {
  const handlers: [event: string, handler: () => void][] = DEADLY.map((signal) => [
    signal,
    () => {
      // Someone else, such as the trainer, deals with it: then the run ends in its own way.
      if (process.listenerCount(signal) > 1) return;
      restore();
      undo();
      // With no listener left it does what it would have done without us.
      process.kill(process.pid, signal);
    },
  ]);
  // Before Node prints the error that ends it.
  handlers.push(["uncaughtExceptionMonitor", restore], ["exit", restore]);
  function undo(): void {
    for (const [event, handler] of handlers) process.off(event, handler);
  }
  for (const [event, handler] of handlers) process.on(event, handler);
  return undo;
}
