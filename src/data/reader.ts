// What a DataLoader needs of its data: a reader per epoch that makes batches in order.
import type { HostBatch, LoaderState, MaybePromise } from "../core/model.ts";
import type { Part } from "./share.ts";

export interface Made {
  readonly batch: HostBatch;
  /** Of the whole batch, where only a part of it was made. */
  readonly samples: number;
}

/** A batch asked for, perhaps still on its way. */
export interface Reading {
  readonly made: MaybePromise<Made | undefined>;
  /** How many samples it will have, where that is known before it is there. */
  readonly samples?: number;
}

/** One epoch of data, read in order; it may be read further ahead than what has been consumed. */
export interface Reader {
  /**
   * Asks for the next batch; `made` is undefined at the end. May be called before the one before is there. A source that
   * `makesParts` makes only the rows of `part`.
   */
  read(part?: Part): Reading;
  /** Passes over a batch; the number of samples passed, 0 at the end. */
  skip(): MaybePromise<number>;
  /** Goes to a consumed position of this epoch. */
  seek(position: LoaderState): MaybePromise<void>;
  close(): MaybePromise<void>;
}

export interface Source {
  /** Batches in an epoch; undefined when only the end will tell. */
  readonly length: number | undefined;
  /** Whether a reader can go back, so that a failed batch can be asked for again. */
  readonly rewinds: boolean;
  /** Whether a reader can make a part of a batch alone. */
  readonly makesParts: boolean;
  open(epoch: number, seed: number): Reader;
}
