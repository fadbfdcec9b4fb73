// What the loop needs of a data loader: batches of an epoch in a known order, and a position to come back to.
import type { HostBatch } from "./model.ts";

export type MaybePromise<T> = T | Promise<T>;

/** A position in the data: enough to continue with the very next sample. */
export interface LoaderState {
  readonly epoch: number;
  /** Batches handed out and consumed in this epoch. */
  readonly batches: number;
  /** Samples consumed in this epoch. */
  readonly samples: number;
}

/** A process's part of a batch, where several train together. */
export interface Share<B = HostBatch> {
  readonly batch: B;
  /** Samples of the whole batch. */
  readonly samples: number;
  /** It has none of the batch's rows: `batch` is one of another process's, and counts for nothing. */
  readonly empty: boolean;
}

/** Where batches come from. Its position is plain data, so that a run goes on with the batch it would have had. */
export interface Loader<B = HostBatch> {
  /** Batches in one epoch; undefined when only the end of the stream will tell. */
  readonly length: number | undefined;
  /** Starts epoch `epoch` at its first batch. `seed` is the trainer's, used unless the loader has its own. */
  begin(epoch: number, seed: number): void;
  /** The next batch, or undefined at the end of the epoch. A promise only when the data really is asynchronous. */
  next(): MaybePromise<B | undefined>;
  /**
   * `next` for one of several processes that train together: makes only its rows, while the position counts the whole
   * batch. Without this method the whole batch is made, and cut.
   */
  nextShare?(rank: number, size: number): MaybePromise<Share<B> | undefined>;
  /** Passes over a batch without making it, where the data allows; false at the end of the epoch. */
  skip(): MaybePromise<boolean>;
  /** The consumed position; batches prefetched but not yet returned by `next` do not count. */
  state(): LoaderState;
  /** Goes to a position: the following `next()` returns exactly what it would have returned there. Call after `begin`. */
  load(state: LoaderState): MaybePromise<void>;
  /** Ends background work (prefetching, open iterators). */
  close?(): MaybePromise<void>;
}
