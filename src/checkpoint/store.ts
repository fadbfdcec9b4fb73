// What a checkpoint store is: checkpoints are named sets of files with a manifest, and a save resolves when it is durable.
import type { BadCheckpoint, CheckpointInfo, SavedCheckpoint } from "../core/saving.ts";
import type { FileBytes } from "./parts.ts";

export type { BadCheckpoint, CheckpointInfo, FileEntry, SavedCheckpoint, SaveReason } from "../core/saving.ts";

/** What is saved, by name: whole files, or files in parts, which are written one after the other. */
export type FileParts = Readonly<Record<string, FileBytes>>;

/**
 * Files in memory that others go on using, by name: where their parts lie now. A part is empty once it has moved, as the
 * memory of WebAssembly does when it grows: then the store asks again. Where it lies, what it holds never changes.
 */
export type LentFiles = Readonly<Record<string, () => readonly Uint8Array[]>>;

/** The bytes of each file, by name. */
export type CheckpointFiles = Readonly<Record<string, Uint8Array>>;

/** A checkpoint that was read, and what was passed over on the way to it. */
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

/** Where checkpoints are kept: on disk, in memory, in a browser's files, or in a place of your own. */
export interface CheckpointStore {
  /**
   * Resolves when the checkpoint would survive a crash; when it rejects, the store is as it was before.
   * The bytes must not change meanwhile. One of the same name is replaced, and stays until the new one is durable.
   * Parts in shared memory are read where they lie, by whichever thread writes them.
   */
  save(name: string, files: FileParts, info: CheckpointInfo): Promise<SavedCheckpoint>;
  /**
   * The same with some of the files read where they lie, however long it takes. Their digests are of
   * what was read back from the disk. A store without it gets copies.
   */
  saveLent?(name: string, files: FileParts, lent: LentFiles, info: CheckpointInfo): Promise<SavedCheckpoint>;
  /** Those with a valid manifest and files of the right sizes, oldest first (by step, then time). */
  list(): Promise<SavedCheckpoint[]>;
  /** One file, verified against the manifest. */
  read(name: string, file: string): Promise<Uint8Array>;
  /** The newest intact checkpoint, or the named one. Only the former falls back, and says so in `skipped`. */
  load(options?: LoadOptions): Promise<LoadedCheckpoint>;
  /** Reads every file of a checkpoint through, or only these; rejects with an error that names the one that is damaged. */
  verify(name: string, files?: readonly string[]): Promise<void>;
  /** Removes what is there under these names; unknown names are no error. */
  remove(names: readonly string[]): Promise<void>;
  /** Removes what crashes left behind and returns its names. Done when the store is opened. */
  sweep(): Promise<string[]>;
  /** Waits for what is under way and lets others use the place. May be called twice. */
  close(): Promise<void>;
}

type Age = Pick<CheckpointInfo, "step" | "time" | "serial">;

/** Which was saved first: by serial number, and by the clock only where there is none. */
export function bySave(a: Omit<Age, "step">, b: Omit<Age, "step">): number {
  return (a.serial ?? 0) - (b.serial ?? 0) || a.time - b.time;
}

/** Oldest first: by step, then by when they were saved. */
export function byAge(a: Age, b: Age): number {
  return a.step - b.step || bySave(a, b);
}

/** Newest first, where several runs share a place: all of the run that wrote last come before those of others. */
export function lastRunFirst<T extends Age & Pick<CheckpointInfo, "runId">>(all: readonly T[]): T[] {
  const lastSave = new Map<string, T>();
  for (const each of all) {
    const last = lastSave.get(each.runId);
    if (!last || bySave(last, each) < 0) lastSave.set(each.runId, each);
  }
  return [...all].sort((a, b) => bySave(lastSave.get(b.runId)!, lastSave.get(a.runId)!) || byAge(b, a));
}
