// What a loader and its threads say to each other.
import type { HostBatch, LoaderState } from "../core/model.ts";

/** What a thread is started with. */
export interface ThreadStart {
  /** Of the module and, after the #, its export. */
  readonly module: string;
  /** How messages call it. */
  readonly shown: string;
  readonly port: unknown;
}

/** Where a pass over the data begins. */
export interface PassStart {
  readonly epoch: number;
  readonly seed: number;
  readonly at: LoaderState | undefined;
}

/**
 * To begin a pass, which the first of the following does; to go to where it begins, or to make batch `read` (from 0,
 * never going back), which are answered; to end it.
 */
export type ToThread =
  | { readonly begin: PassStart }
  | { readonly open: true }
  | { readonly read: number }
  | { readonly end: true };

export interface Failure {
  readonly message: string;
  readonly stack: string | undefined;
}

/** The first of all answers says how long the loader is; the others are to what was asked, in its order. */
export type FromThread =
  | { readonly length: number | undefined }
  | { readonly batch: HostBatch | undefined; readonly state: LoaderState }
  | { readonly failure: Failure };
