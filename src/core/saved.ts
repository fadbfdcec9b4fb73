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
