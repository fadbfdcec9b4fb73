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

export interface Loader<B = HostBatch> {
  /** Batches in one epoch; undefined when only the end of the stream will tell. */
  readonly length: number | undefined;
  /** Starts epoch `epoch` at its first batch. `seed` is the trainer's, used unless the loader has its own. */
  begin(epoch: number, seed: number): void;
  /** The next batch, or undefined at the end of the epoch. A promise only when the data really is asynchronous. */
  next(): MaybePromise<B | undefined>;
  /** Passes over a batch without making it, where the data allows; false at the end of the epoch. */
  skip(): MaybePromise<boolean>;
  /** The consumed position; batches prefetched but not yet returned by `next` do not count. */
  state(): LoaderState;
  /** Goes to a position: the following `next()` returns exactly what it would have returned there. Call after `begin`. */
  load(state: LoaderState): MaybePromise<void>;
  /** Ends background work (prefetching, open iterators). */
  close?(): MaybePromise<void>;
}
