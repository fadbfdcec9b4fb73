// What a logging backend is: told of a run, of what each boundary logs, of what happened, and of the end. One run each.
import type { LogRecord, RunEnd, RunEvent, RunFacts } from "../runs/types.ts";
import { messageOf } from "../core/maybe.ts";

export type Warn = (message: string) => void;

/** Where the `logger` hook writes. */
export interface LoggerBackend {
  readonly name: string;
  /**
   * A run begins or goes on. Awaited before the first step. `warn` is for what the user should know and the run can do
   * without; until the end of `close` it goes where the trainer's warnings go.
   */
  open(run: RunFacts, warn?: Warn): void | Promise<void>;
  /** Called on the training thread, so it must be quick: keep what you need, write later. Steps never go back. */
  log(record: LogRecord): void;
  event?(event: RunEvent): void;
  /** Hands over to the system what is buffered: at the logger's flush cadence, and before each checkpoint. */
  flush?(): void | Promise<void>;
  /** The run is over, however it ended. Must come to an end by itself within a few seconds. */
  close(end: RunEnd): void | Promise<void>;
}

/** A backend that writes files: they can also be flushed where nothing can be awaited. */
export interface FileBackend extends LoggerBackend {
  flush(): Promise<void>;
  /** What was logged is with the system when this returns. */
  flushSync(): void;
}

/** What such a backend is made of. */
export interface FileSettings {
  readonly name: string;
  /** Undefined: the run's. */
  readonly dir: string | undefined;
}

// Work for a timer. Nobody catches what a timer throws, and it would end the process.

/** The same work, which never throws: `failed` is told of the first time that it would have. */
export function inTimer(work: () => void, failed: (message: string) => void): () => void {
  let told = false;
  return () => {
    try {
      work();
    } catch (error) {
      if (!told) failed(messageOf(error));
      told = true;
    }
  };
}
