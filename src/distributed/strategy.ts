// The strategy seam: how many processes train together, which one this is, and how they agree.
import type { MaybePromise } from "../core/loader.ts";

export type ReduceOp = "sum" | "min" | "max";

/** How processes that train together hear each other: for the trainer's `strategy`. */
export interface Strategy {
  readonly name: string;
  /** This process, from 0; 0 is the main one. */
  readonly rank: number;
  readonly size: number;
  /** Combines the vectors of all ranks, in place. Every rank must call it with the same length, in the same order of calls. */
  allReduce(values: Float32Array | Float64Array, op?: ReduceOp): MaybePromise<void>;
  /** Fills `bytes` with what rank 0 has there. */
  broadcast(bytes: Uint8Array): MaybePromise<void>;
  /** Returns when all ranks have come to it. */
  barrier(): MaybePromise<void>;
  /** The main rank has failed: tells the others that `abort` follows when it has saved what it can. */
  announceFailure?(): void;
  /** Has the main rank announced its failure? */
  mainHasFailed?(): boolean;
  /** This rank has failed and cannot go on: ends all of them. */
  abort(exitCode: number): void;
  close(): MaybePromise<void>;
}

/** One process alone. */
export const single: Strategy = {
  name: "single",
  rank: 0,
  size: 1,
  allReduce: () => undefined,
  broadcast: () => undefined,
  barrier: () => undefined,
  abort: () => undefined,
  close: () => undefined,
};
