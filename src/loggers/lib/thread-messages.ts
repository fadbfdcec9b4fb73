// What the training thread and the logging thread say to each other.
import type { ThreadFailure } from "../../platform/thread-failure.ts";
import type { RunEnd, RunFacts } from "../../runs/types.ts";
import type { RecordBatch } from "./record-batch.ts";

/** What the logging thread is to do; each is answered when it is done. */
export type Call =
  | { readonly method: "open"; readonly kind: string; readonly settings: object; readonly run: RunFacts }
  | { readonly method: "flush"; readonly isWaitedFor?: boolean }
  | { readonly method: "close"; readonly end: RunEnd };

export interface ToThread {
  /** Which backend it is for. */
  readonly backend: number;
  /** Comes before the call. */
  readonly batch?: RecordBatch | undefined;
  readonly call?: (Call & { readonly id: number }) | undefined;
}

export type FromThread =
  | { readonly id: number; readonly failure?: ThreadFailure }
  | { readonly backend: number; readonly warning: string };

/** The answer that nobody asked for: the thread listens. */
export const READY = 0;

/** Places in the memory that both threads see: batches that were taken, and how the flush went that is waited for. */
export const TAKEN = 0;
export const FLUSHED = 1;
export const FLUSH = { pending: 0, done: 1, failed: 2 } as const;
