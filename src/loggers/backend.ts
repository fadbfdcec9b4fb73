// What a logging backend is: told of a run, of what each boundary logs, of what happened, and of the end. One run each.
import type { Json } from "../core/json.ts";
import type { Media } from "../core/media.ts";
import type { LockMark } from "../core/saving.ts";

/** What is known of a run when it begins. Secrets are gone from all of it. */
export interface RunFacts {
  /** `<runDir>`; undefined when the trainer has none: then a backend that writes files is an error. */
  readonly dir: string | undefined;
  /** The last part of the directory, or what the user calls the run. */
  readonly name: string;
  /** Stays the same when the run is resumed; random for a new one. */
  readonly id: string;
  /** Set when the run is resumed: the step of its checkpoint. */
  readonly resumedAt: number | undefined;
  /**
   * Of a resumed run, the last record that was written before its checkpoint: records after it will be logged again.
   * Undefined when the checkpoint does not say: then every record up to `resumedAt` is kept.
   */
  readonly lastRecord?: LastRecord | undefined;
  /** This process closed the run itself, and continues it with another call of the trainer: nothing is logged again. */
  readonly continued?: boolean;
  /** Milliseconds since 1970, when this part of the run began. */
  readonly startedAt: number;
  /** The user's, or those of the trainer's options that are plain values. */
  readonly hparams: Readonly<Record<string, Json>>;
  /** For run.json: options, versions, command line, git commit, engine, host. */
  readonly about: Readonly<Record<string, Json>>;
  readonly totalSteps: number | undefined;
  /** The lock of the run's directory: once its file has another text, another process writes there. */
  readonly lock?: LockMark | undefined;
}

/** Several records may have the same step: that of an epoch follows that of its last step. */
export interface LastRecord {
  readonly step: number;
  /** How many records this step has, this one included; Infinity where it is not known. */
  readonly count: number;
}

/** The last record that a resumed run keeps. */
export const lastRecordOf = ({ lastRecord, resumedAt = 0 }: RunFacts): LastRecord =>
  lastRecord ?? { step: resumedAt, count: Infinity };

/** What one boundary logs. */
export interface LogRecord {
  readonly step: number;
  /** Of an evaluation of other weights than the last, such as the best checkpoint's: the step they are from. */
  readonly weightsStep?: number;
  /** From 0. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Seconds of training, earlier parts of a resumed run included. */
  readonly elapsed: number;
  readonly scalars: Readonly<Record<string, number>>;
  readonly media: Readonly<Record<string, Media>>;
}

/** Something that happened: an intervention, an error that a hook's policy caught, a checkpoint saved or not saved. */
export interface RunEvent {
  readonly type: "intervention" | "hookError" | "save" | "saveError" | "load" | "start" | "end";
  readonly step: number;
  readonly time: number;
  readonly details: Readonly<Record<string, Json>>;
}

/** How a run ended, for a logging backend. */
export interface RunEnd {
  readonly status: "completed" | "stopped" | "interrupted" | "error";
  readonly reason: string;
  readonly step: number;
  readonly time: number;
  readonly elapsed: number;
  /** Seconds that the engine spent on compiling, in this part of the run; where it says so. */
  readonly compileSeconds?: number;
  /** Latest value of every metric. */
  readonly metrics: Readonly<Record<string, number>>;
}

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
