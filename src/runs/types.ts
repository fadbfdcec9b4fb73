// The data in the files of a run. Only types, and none of Node's: users' programs import them without @types/node.
import type { Json } from "../core/options.ts";
import type { Media } from "../core/media.ts";
import type { LockMark } from "../core/saving.ts";

export type Numbers = Readonly<Record<string, number>>;

/** The best value of a metric, and the step at which it was logged. */
export interface BestValue {
  readonly value: number;
  readonly step: number;
}

/** Contents of run.json. Numbers that JSON lacks are strings there: "NaN", "Infinity", "-Infinity". */
export interface RunInfo {
  readonly schema: "hookline.run";
  readonly version: number;
  readonly id: string;
  readonly name: string;
  /** Stays `running` if the run was killed. */
  readonly status: "running" | RunEnd["status"];
  /** Milliseconds since 1970: when the first part of the run began, and when the latest part did. */
  readonly startedAt: number;
  readonly partStartedAt: number;
  /** The step at which the latest part resumed; null when there is only one part. */
  readonly resumedAt: number | null;
  readonly totalSteps: number | null;
  readonly hparams: Readonly<Record<string, Json>>;
  /** Options, versions, command line, git commit, engine, host. */
  readonly about: Readonly<Record<string, Json>>;
  /** How far the run is: as it ended, or while it is running as of some seconds ago. */
  readonly step?: number;
  /** Seconds of training, all parts together. */
  readonly elapsed?: number;
  /** The latest value of every metric. */
  readonly metrics?: Readonly<Record<string, number | string>>;
  /** The best value of every metric that has one, up to `step`. Missing in files of older versions. */
  readonly best?: Readonly<Record<string, { readonly value: number | string; readonly step: number }>>;
  /** Only of a run that has ended. */
  readonly reason?: string;
  readonly endedAt?: number;
  /** Seconds that the engine spent on compiling in the latest part, if it reports them. */
  readonly compileSeconds?: number;
}

/** What is known of a run when it begins, without secrets. */
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
  /** The user's hyperparameters, or the trainer's options that are plain values. */
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
  /** Samples and tokens that the run has trained on so far. */
  readonly samples?: number;
  readonly tokens?: number;
  readonly scalars: Readonly<Record<string, number>>;
  readonly media: Readonly<Record<string, Media>>;
}

/**
 * An event of the run: an intervention, one that was refused after all, a pause, an error that a hook's policy caught, a
 * checkpoint saved or not saved.
 */
export interface RunEvent {
  readonly type:
    | "intervention"
    | "refused"
    | "pause"
    | "continue"
    | "hookError"
    | "save"
    | "saveError"
    | "load"
    | "hooks"
    | "start"
    | "end";
  readonly step: number;
  readonly time: number;
  readonly details: Readonly<Record<string, Json>>;
}

/** How a run ended. */
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

/** One line of a list of runs. */
export interface RunSummary {
  /** The path from the directory that was searched. */
  readonly name: string;
  readonly dir: string;
  /** `running`, `killed`, or how it ended: `completed`, `stopped`, `interrupted` or `error`. */
  readonly status: string;
  readonly reason: string | null;
  readonly step: number;
  readonly totalSteps: number | null;
  /** Seconds of training. */
  readonly elapsed: number;
  /** The engine, and the seconds that it spent on compiling; null where they are not known. */
  readonly engine: string | null;
  readonly compileSeconds: number | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /**
   * By metric, the smallest or the largest value, as suits the metric's name; only of metrics of which one value is
   * better than another. NaN when all values are.
   */
  readonly best: Readonly<Record<string, BestValue>>;
  /**
   * Whether `best` covers the whole log. False for a long log of a run of an older version of hookline, or of one that
   * was killed: then it covers the last records only.
   */
  readonly exact: boolean;
  /** Names of all metrics. */
  readonly metrics: readonly string[];
}
