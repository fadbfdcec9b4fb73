// Checkpoints as hooks and the loop see them: what can be asked for, what goes into one, and what came back from one.
import type { HostArray } from "./arrays.ts";
import type { HostTensors } from "./model.ts";
import { checkOptions, is } from "./options.ts";
import { checkName } from "./safe-name.ts";

/** The names of the formats of weights. */
export const WEIGHT_FORMATS = ["safetensors", "pt"] as const;
/** The name of a format of weights. */
export type WeightsFormatName = (typeof WEIGHT_FORMATS)[number];

/** What a checkpoint is named after. */
export interface SaveMoment {
  readonly step: number;
  readonly epoch: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Options of `ctx.requestSave`. */
export interface SaveOptions {
  /** Default `step-000500`. A function is asked when the boundary's evaluation is done, and sees its metrics. */
  readonly name?: string | ((moment: SaveMoment) => string);
  /** `pt` keeps model and optimizer as PyTorch does, in `checkpoint.pt`. Default `safetensors`. */
  readonly format?: WeightsFormatName;
  /** Reads back what was written before it counts as saved. Default false. */
  readonly verify?: boolean;
  /**
   * `boundary` (default): at the end of the step or epoch at hand. `end`: when the run ends, however it ends, unless
   * that state is saved already; its reason is then `final`, or `emergency` after a failure or a signal. The end of an
   * epoch is part of the state: after a save at the last step the one at the end is written as well, in its place.
   */
  readonly at?: "boundary" | "end";
}

const CHECKS = {
  name: is.or(is.name, is.function),
  format: is.oneOf(...WEIGHT_FORMATS),
  verify: is.boolean,
  at: is.oneOf("boundary", "end"),
};

export function checkSaveOptions(what: string, options: SaveOptions): void {
  checkOptions(what, options, CHECKS);
  if (typeof options.name === "string") checkName("a checkpoint's name", options.name);
}

/** The requests of one boundary, merged: there is one save, and it belongs to all who asked. */
export interface SaveRequest extends Omit<SaveOptions, "at"> {
  readonly reason: SaveReason;
  readonly by: readonly string[];
}

/** The tensors of one file of a checkpoint that is about to be written. */
export interface SaveTensors {
  readonly names: readonly string[];
  /** A host copy. */
  get(name: string): Promise<HostArray>;
  set(name: string, array: HostArray): void;
  delete(name: string): void;
}

/** What is about to be written. All of it may be changed in `beforeSave`; the run itself does not see it. */
export interface Saving {
  readonly name: string;
  readonly reason: SaveReason;
  readonly step: number;
  readonly epoch: number;
  /** Kept in the manifest: what `ctx.checkpoints.list()` and retention see. */
  readonly metrics: Record<string, number>;
  /** By file without its ending: `model`, `optimizer`, and where there are some, `hooks` and `model-ema`. */
  readonly tensors: Readonly<Record<string, SaveTensors>>;
  /** Further files of your own, by name. */
  readonly files: Record<string, Uint8Array>;
}

/** A save that failed; the checkpoints before it are as they were. */
export interface FailedSave {
  readonly name: string;
  readonly reason: SaveReason;
  readonly step: number;
  readonly by: readonly string[];
  readonly error: Error;
}

/** A checkpoint about to be loaded. */
export interface Loading {
  /** Its name in the run's own checkpoints, or the path that `resume` was given. */
  readonly from: string;
  readonly why: "resume" | "rollback";
}

/** What a checkpoint gave back. */
export interface ResumeReport extends Loading {
  /** Undefined for a bare file of weights. */
  readonly checkpoint?: SavedCheckpoint;
  readonly step: number;
  /** What is as it was: `model`, `optimizer`, `data position`, `hook ema`, … */
  readonly restored: readonly string[];
  /** What this run has and the checkpoint has not: it starts anew. */
  readonly missing: readonly string[];
  /** What the checkpoint has and this run has not: it is left alone. */
  readonly orphaned: readonly string[];
  /** Options that differ now from when it was saved: today's hold. */
  readonly changed: readonly string[];
  /** Newer checkpoints that were damaged. */
  readonly skipped: readonly BadCheckpoint[];
}

/** Which weights to read, where a checkpoint has averaged ones too. */
export interface WeightsOptions {
  /** False: the model's own in any case. A name: those that this hook keeps. */
  readonly averaged?: boolean | string;
}

/** What identifies a lock that this process holds. */
export interface LockMark {
  readonly file: string;
  /** The whole content of the lock file. It includes a random token, so no other holder writes the same. */
  readonly text: string;
}

/** The run directory's lock, held for a hook that writes there. */
export interface HeldLock extends LockMark {
  /** May be called twice. */
  release(): void;
}

/** The run's checkpoints, for one hook. May be used after the event too. */
export interface Checkpoints {
  /** Does the trainer have a place for any (`runDir` or `store`)? */
  readonly enabled: boolean;
  /** The directory; undefined where they are not on a disk, or when there is no place for any. */
  readonly dir: string | undefined;
  /** Those that are durable, oldest first; empty before the first save or load has opened the store. */
  list(): readonly SavedCheckpoint[];
  /** One file, verified. */
  read(name: string, file: string): Promise<Uint8Array>;
  /** The model's weights in one: averaged ones where a hook keeps some. */
  weights(name: string, options?: WeightsOptions): Promise<HostTensors>;
  /**
   * Holds the lock of the run's directory until it is released, also after the call at hand; undefined without a
   * directory. Whoever writes there stops when the lock file no longer has this text.
   */
  lock(): Promise<HeldLock | undefined>;
  /** Keeps these, whoever asked for them, until this hook releases them. */
  hold(names: readonly string[]): void;
  /** This hook needs these no longer. One that no hook needs is removed, in the background. */
  release(names: readonly string[]): void;
}

// What a saved checkpoint says about itself: plain data, known to hooks and to stores alike.

/** Why a checkpoint was written. */
export type SaveReason =
  | "interval"
  | "best"
  | "last"
  | "milestone"
  | "emergency"
  | "final"
  | "request"
  // Any other word is as good; this way editors still suggest those above.
  | (string & {});

/** What a checkpoint says about itself: plain data, kept in its manifest. */
export interface CheckpointInfo {
  readonly step: number;
  readonly epoch: number;
  readonly reason: SaveReason;
  readonly metrics: Readonly<Record<string, number>>;
  /** Milliseconds since 1970. */
  readonly time: number;
  /**
   * Counts the saves in one place, over all its runs: the order of saves does not depend on the clock. Checkpoints of
   * older versions have none, and count as older than those that have one.
   */
  readonly serial?: number;
  readonly runId: string;
  /** The checkpoint from which this run went on, if any. */
  readonly parent?: string;
  /** The hooks that asked for it. */
  readonly by?: readonly string[];
}

/** One file of a checkpoint, as its manifest has it. */
export interface FileEntry {
  readonly bytes: number;
  readonly sha256: string;
}

/** A checkpoint that is there. */
export interface SavedCheckpoint extends CheckpointInfo {
  readonly name: string;
  /** Where it lies, for stores on a disk. */
  readonly dir?: string;
  readonly files: Readonly<Record<string, FileEntry>>;
}

/** A checkpoint that is not trusted, and the file that is to blame. */
export interface BadCheckpoint {
  readonly name: string;
  readonly file: string;
  readonly reason: string;
}

/** The reason of the error when a place is empty: nothing is damaged, there is just nothing to go on from. */
export const NO_CHECKPOINT = "there is no checkpoint here";
