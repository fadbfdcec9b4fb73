// The interface of a logging backend: a run opens it, logs records and events, and closes it.
import type { LogRecord, RunEnd, RunEvent, RunFacts } from "../runs/types.ts";
import { messageOf } from "../core/maybe.ts";

export type Warn = (message: string) => void;

/** Where the `logger` hook writes. */
export interface LoggerBackend {
  readonly name: string;
  /**
   * A run begins or is resumed. Awaited before the first step. `warn` reports problems that do not stop the run; it can
   * be called until the end of `close`.
   */
  open(run: RunFacts, warn?: Warn): void | Promise<void>;
  /** Called on the training thread, so it must be quick: keep the record and write it later. Steps never decrease. */
  log(record: LogRecord): void;
  event?(event: RunEvent): void;
  /** Writes what is buffered. Called at the logger's flush cadence and before each checkpoint. */
  flush?(): void | Promise<void>;
  /** The run is over, however it ended. Must finish by itself within a few seconds. */
  close(end: RunEnd): void | Promise<void>;
}

/** A backend that writes files, which can also be flushed synchronously. */
export interface FileBackend extends LoggerBackend {
  flush(): Promise<void>;
  /** Everything logged is written when this returns. */
  flushSync(): void;
}

/** The settings of a file backend, for the logging thread. */
export interface FileSettings {
  readonly name: string;
  /** Undefined: the run's directory. */
  readonly dir: string | undefined;
}

/** Work for a timer. An error thrown in a timer would end the process, so the first one goes to `failed` instead. */
export function inTimer(work: () => void, failed: (message: string) => void): () => void {
  let hasFailed = false;
  return () => {
    try {
      work();
    } catch (error) {
      if (!hasFailed) failed(messageOf(error));
      hasFailed = true;
    }
  };
}
