// Checkpoints as hooks and the loop see them: requests, the snapshot to be saved, what was restored, and what a checkpoint records.
import type { HostArray } from "./arrays.ts";
import type { HostTensors } from "./model.ts";
import { checkOptions, is } from "./options.ts";
import { checkName } from "./safe-name.ts";

/** The names of the formats of weights. */
export const WEIGHT_FORMATS = ["safetensors", "pt"] as const;
/** The name of a format of weights. */
export type WeightsFormatName = (typeof WEIGHT_FORMATS)[number];

/** What a checkpoint's name may be made from. */
export interface SaveMoment {
  readonly step: number;
  readonly epoch: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Options of `ctx.requestSave`. */
export interface SaveOptions {
  /** Default `step-000500`. A function is called after the boundary's evaluation, with its metrics. */
  readonly name?: string | ((moment: SaveMoment) => string);
  /** `pt` keeps model and optimizer as PyTorch does, in `checkpoint.pt`. Default `safetensors`. */
  readonly format?: WeightsFormatName;
  /** Reads back what was written before it counts as saved. Default false. */
  readonly verify?: boolean;
  /**
   * `boundary` (default): at the end of the current step or epoch. `end`: when the run ends, however it ends, unless
   * that state is saved already; the reason is then `final`, or `emergency` after a failure or a signal. The end of an
   * epoch is part of the state: after a save at the last step, the one at the end is written too and replaces it.
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

/** The requests of one boundary, merged: one save serves all hooks that asked for it. */
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

/** A checkpoint about to be written. Hooks may change it in `beforeSave`; the run itself is not affected. */
export interface Saving {
  readonly name: string;
  readonly reason: SaveReason;
  readonly step: number;
  readonly epoch: number;
  /** Kept in the manifest: what `ctx.checkpoints.list()` and retention see. */
  readonly metrics: Record<string, number>;
  /** By file without its ending: `model`, `optimizer`, and if there are any, `hooks` and `model-ema`. */
  readonly tensors: Readonly<Record<string, SaveTensors>>;
  /** Further files of your own, by name. */
  readonly files: Record<string, Uint8Array>;
}

/** A save that failed. Earlier checkpoints are unaffected. */
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

/** What was restored from a checkpoint. */
export interface ResumeReport extends Loading {
  /** Undefined for a bare file of weights. */
  readonly checkpoint?: SavedCheckpoint;
  readonly step: number;
  /** What was restored: `model`, `optimizer`, `data position`, `hook ema`, … */
  readonly restored: readonly string[];
  /** What this run has and the checkpoint has not: it starts fresh. */
  readonly missing: readonly string[];
  /** What the checkpoint has and this run has not: it is ignored. */
  readonly orphaned: readonly string[];
  /** Options that changed since it was saved; the new values are used. */
  readonly changed: readonly string[];
  /** Newer checkpoints that were damaged. */
  readonly skipped: readonly BadCheckpoint[];
}

/** Which weights to read, if a checkpoint has averaged ones too. */
export interface WeightsOptions {
  /** False: the model's own. A name: those of this hook. */
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
  /** Whether the trainer has a `runDir` or a `store`. */
  readonly enabled: boolean;
  /** The directory; undefined if there is none, or checkpoints are not on a disk. */
  readonly dir: string | undefined;
  /** The id of the run that saves here. It is kept by a resume from its newest checkpoint; from an older one, a new run branches off. */
  readonly runId: string;
  /** The durable checkpoints, oldest first; empty before the first save or load has opened the store. */
  list(): readonly SavedCheckpoint[];
  /** One file, verified. */
  read(name: string, file: string): Promise<Uint8Array>;
  /** The model's weights in one: averaged ones, if a hook keeps some. */
  weights(name: string, options?: WeightsOptions): Promise<HostTensors>;
  /**
   * Holds the lock of the run directory until it is released, even after the current call; undefined without a directory.
   * A hook must stop writing there when the lock file no longer has this text.
   */
  lock(): Promise<HeldLock | undefined>;
  /** The hooks that hold a checkpoint, by its name; without those that nobody holds. */
  holders(): Readonly<Record<string, readonly string[]>>;
  /** Keeps these, even if other hooks asked for them, until this hook releases them. */
  hold(names: readonly string[]): void;
  /** This hook no longer needs these. Those that no hook needs are removed in the background. */
  release(names: readonly string[]): void;
}

/** Why a checkpoint was written. */
export type SaveReason =
  | "interval"
  | "best"
  | "last"
  | "milestone"
  | "emergency"
  | "final"
  | "request"
  // Any other text is allowed; with this type, editors still suggest those above.
  | (string & {});

/** What a checkpoint's manifest records. */
export interface CheckpointInfo {
  readonly step: number;
  readonly epoch: number;
  readonly reason: SaveReason;
  readonly metrics: Readonly<Record<string, number>>;
  /** Milliseconds since 1970. */
  readonly time: number;
  /**
   * Counts the saves in one store, over all its runs, so that their order does not depend on the clock. Checkpoints of
   * older versions have none, and count as older than those that have one.
   */
  readonly serial?: number;
  readonly runId: string;
  /** The checkpoint from which this run was resumed, if any. */
  readonly parent?: string;
  /** The hooks that asked for it. */
  readonly by?: readonly string[];
  /** The version of hookline that wrote it. Checkpoints of version 0.1 do not record it. */
  readonly hookline?: string;
  /** The model's frozen base, whose tensors are not in the checkpoint. */
  readonly base?: { readonly path: string; readonly digest: string };
}

/** One file of a checkpoint in its manifest. */
export interface FileEntry {
  readonly bytes: number;
  readonly sha256: string;
}

/** A checkpoint in a store. */
export interface SavedCheckpoint extends CheckpointInfo {
  readonly name: string;
  /** Its directory, for stores on a disk. */
  readonly dir?: string;
  readonly files: Readonly<Record<string, FileEntry>>;
}

/** A damaged checkpoint, and the file that is the reason. */
export interface BadCheckpoint {
  readonly name: string;
  readonly file: string;
  readonly reason: string;
}

/** The reason of the error for an empty store: nothing is damaged, there is only nothing to resume from. */
export const NO_CHECKPOINT = "there is no checkpoint here";
