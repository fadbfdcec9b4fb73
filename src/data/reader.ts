// The interface between a DataLoader and its data: a reader per epoch that makes batches in order.
import type { HostArray } from "../core/arrays.ts";
import type { HostBatch, LoaderState, MaybePromise } from "../core/model.ts";
import type { Part } from "./share.ts";

export interface Made {
  readonly batch: HostBatch;
  /** Of the whole batch, even if only a share of it was made. */
  readonly samples: number;
}

/** A requested batch, perhaps still pending. */
export interface Reading {
  readonly made: MaybePromise<Made | undefined>;
  /** The number of its samples, if known before it is made. */
  readonly samples?: number;
}

/** One epoch of data, read in order; it may be ahead of what has been consumed. */
export interface Reader {
  /**
   * Requests the next batch; `made` is undefined at the end. May be called while earlier batches are pending. A source
   * that `makesParts` makes only the rows of `part`.
   */
  read(part?: Part): Reading;
  /** Skips a batch; returns the number of its samples, 0 at the end. */
  skip(): MaybePromise<number>;
  /** Goes to a consumed position of this epoch. */
  seek(position: LoaderState): MaybePromise<void>;
  close(): MaybePromise<void>;
}

export interface Source {
  /** Batches in an epoch; undefined for a stream. */
  readonly length: number | undefined;
  /** Whether a reader can go back, so that a failed batch can be read again. */
  readonly rewinds: boolean;
  /** Whether a reader can make only a share of a batch. */
  readonly makesParts: boolean;
  /** All values of a field, if the data is in memory. */
  column?(field: string): HostArray | undefined;
  /** Takes back the arrays of a batch, for another one. */
  reuse?(batch: HostBatch): void;
  open(epoch: number, seed: number): Reader;
}
