// What a checkpoint store is: named sets of files with a manifest. Also what stores share: the order of checkpoints, a
// queue of calls, and files as chunks, which are written in order and never concatenated first.
import type { BadCheckpoint, CheckpointInfo, SavedCheckpoint } from "../core/saving.ts";
import { CheckpointError } from "../core/errors.ts";
import { joinBytes } from "./formats/tensor.ts";
import { currentPlatform } from "../platform/platform.ts";

export type { BadCheckpoint, CheckpointInfo, FileEntry, SavedCheckpoint, SaveReason } from "../core/saving.ts";

/** One file: its bytes, or chunks that are written in order. */
type FileBytes = Uint8Array | readonly Uint8Array[];

/** The files to be saved, by name. */
export type FileParts = Readonly<Record<string, FileBytes>>;

/**
 * Files in memory that stays in use, by name. The function returns where the chunks are now. A chunk is empty once it has
 * moved, as WebAssembly's memory does when it grows; the store then calls again. The contents never change.
 */
export type LentFiles = Readonly<Record<string, () => readonly Uint8Array[]>>;

/** The bytes of each file, by name. */
export type CheckpointFiles = Readonly<Record<string, Uint8Array>>;

/** A checkpoint that was read, and the damaged ones that were skipped. */
export interface LoadedCheckpoint {
  readonly checkpoint: SavedCheckpoint;
  readonly files: CheckpointFiles;
  /** Newer ones that were damaged, newest first. */
  readonly skipped: readonly BadCheckpoint[];
}

/** Which checkpoint a store reads, and what of it. */
export interface LoadOptions {
  /** Which checkpoint; by default the newest that is intact. */
  readonly name?: string;
  /** Reads and verifies only these files; by default all. */
  readonly files?: readonly string[];
}

/** Where checkpoints are kept: on a disk, in memory, in a browser's files, or in a store of your own. */
export interface CheckpointStore {
  /**
   * Resolves when the checkpoint would survive a crash; when it rejects, the store is as it was before.
   * The bytes must not change meanwhile. A checkpoint of the same name is replaced, and kept until the new one is
   * durable. Chunks in shared memory are read in place by the writing thread.
   */
  save(name: string, files: FileParts, info: CheckpointInfo): Promise<SavedCheckpoint>;
  /**
   * The same, with some files read in place from memory that stays in use. Their digests are computed from what was read
   * back from the disk. A store without this method gets copies.
   */
  saveLent?(name: string, files: FileParts, lent: LentFiles, info: CheckpointInfo): Promise<SavedCheckpoint>;
  /** Those with a valid manifest and files of the right sizes, oldest first (by step, then time). */
  list(): Promise<SavedCheckpoint[]>;
  /** One file, verified against the manifest. */
  read(name: string, file: string): Promise<Uint8Array>;
  /** The newest intact checkpoint, or the named one. Only the former falls back, and says so in `skipped`. */
  load(options?: LoadOptions): Promise<LoadedCheckpoint>;
  /** Compares the digests of all files of a checkpoint, or of these; the error names the file that is damaged. */
  verify(name: string, files?: readonly string[]): Promise<void>;
  /** Removes these checkpoints. Unknown names are no error. */
  remove(names: readonly string[]): Promise<void>;
  /** Removes what crashes left behind and returns its names. Opening a store does this too. */
  sweep(): Promise<string[]>;
  /** Waits for pending calls and releases the lock. May be called twice. */
  close(): Promise<void>;
}

type Age = Pick<CheckpointInfo, "step" | "time" | "serial">;

/** In the order of saving: by serial number, or by time if there is none. */
export function bySave(a: Omit<Age, "step">, b: Omit<Age, "step">): number {
  return (a.serial ?? 0) - (b.serial ?? 0) || a.time - b.time;
}

/** Oldest first: by step, then in the order of saving. */
export function byAge(a: Age, b: Age): number {
  return a.step - b.step || bySave(a, b);
}

/** Newest first. If several runs share a store, all checkpoints of the run that saved last come first. */
export function lastRunFirst<T extends Age & Pick<CheckpointInfo, "runId">>(all: readonly T[]): T[] {
  const lastSave = new Map<string, T>();
  for (const each of all) {
    const last = lastSave.get(each.runId);
    if (!last || bySave(last, each) < 0) lastSave.set(each.runId, each);
  }
  return [...all].sort((a, b) => bySave(lastSave.get(b.runId)!, lastSave.get(a.runId)!) || byAge(b, a));
}

/** Runs calls one at a time, in order: removing old checkpoints must not overtake the save before it. */
export class CallQueue {
  readonly #store: string;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** `store` names the store in the error for a call after `close`. */
  constructor(store: string) {
    this.#store = store;
  }

  async add<T>(call: () => T | Promise<T>): Promise<T> {
    if (this.#closed) throw new CheckpointError(this.#store, "the store is closed", "Open it again.");
    const result = this.#last.then(call);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Waits for the calls in the queue; later ones are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
  }
}

export const chunksOf = (file: FileBytes): readonly Uint8Array[] => (file instanceof Uint8Array ? [file] : file);

const isOwn = (bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> => bytes.buffer instanceof ArrayBuffer;

/** The file in one piece that no other thread sees, copied only if necessary. */
export function inOnePiece(file: FileBytes): Uint8Array<ArrayBuffer> {
  const [first, ...more] = chunksOf(file);
  return first && more.length === 0 && isOwn(first) ? first : joinBytes(chunksOf(file));
}

/** How much is copied before pending events are handled: about 3 ms, where fresh memory is slow. */
const SLICE = 4 << 20;

/** Zeroed bytes that `save` does not have to copy, if the platform has shared memory: the writing thread sees them too. */
export function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(
    typeof SharedArrayBuffer === "undefined" ? new ArrayBuffer(length) : new SharedArrayBuffer(length),
  );
}

const isShared = ({ buffer }: Uint8Array): boolean => buffer instanceof SharedArrayBuffer;

/** The same chunks in shared memory. Those elsewhere are copied into one block of it. */
export async function toShared(file: FileBytes): Promise<readonly Uint8Array[]> {
  const chunks = chunksOf(file);
  if (typeof SharedArrayBuffer === "undefined" || chunks.every(isShared)) return chunks;
  const block = sharedBytes(chunks.reduce((sum, chunk) => sum + (isShared(chunk) ? 0 : chunk.byteLength), 0));
  let used = 0;
  const shared: Uint8Array[] = [];
  for (const chunk of chunks) {
    if (isShared(chunk)) {
      shared.push(chunk);
      continue;
    }
    const copy = block.subarray(used, used + chunk.byteLength);
    await copyInSlices(chunk, copy, used);
    shared.push(copy);
    used += chunk.byteLength;
  }
  return shared;
}

/** Handles pending events after each slice, counted from the first byte of the block. */
async function copyInSlices(from: Uint8Array, to: Uint8Array, done: number): Promise<void> {
  for (let start = 0; start < from.byteLength;) {
    const filled = (done + start) % SLICE;
    if (filled === 0 && done + start > 0) await currentPlatform().yieldToEvents();
    const end = Math.min(from.byteLength, start + SLICE - filled);
    to.set(from.subarray(start, end), start);
    start = end;
  }
}
