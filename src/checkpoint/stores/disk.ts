// The protocol of a checkpoint directory: whenever a crash happens, a reader finds the old checkpoint, the new one, or both,
// intact.
import { CheckpointError } from "../../core/errors.ts";
import type { LockMark } from "../../core/saving.ts";
import {
  type DiskFs,
  deleteAll,
  deleteQuietly,
  exists,
  makeDirectory,
  sealFile,
  sha256Of,
  syncDirectory,
  writeDurably,
} from "../../platform/durable-files.ts";
import { ASIDE, DiskReader, TEMP, TRASH } from "./disk-reader.ts";
import { MANIFEST, manifestBody, sealManifest } from "../manifest.ts";
import {
  type CheckpointInfo,
  type FileEntry,
  type FileParts,
  type LoadOptions,
  type LoadedCheckpoint,
  type SavedCheckpoint,
  chunksOf,
} from "../store.ts";
import { guarded, quietly } from "../../platform/file-errors.ts";
import { checkName } from "../../core/safe-name.ts";
import { Fence } from "../../runs/fence.ts";
import { LOCK_TEMP } from "../../runs/lock.ts";

export interface DiskOptions {
  /** An absolute path. */
  readonly root: string;
  /** False compares only sizes when reading. */
  readonly digests: boolean;
  /** The lock that must still be held whenever something is committed or deleted. Not checked if undefined. */
  readonly fence?: LockMark | undefined;
  /** Prefix of numbered temporary directories, for tests; by default their names are random. */
  readonly tempNames?: string;
}

export class Disk {
  readonly #fs: DiskFs;
  readonly #root: string;
  readonly #reader: DiskReader;
  readonly #fence: Fence | undefined;
  readonly #tempNames: string | undefined;
  #count = 0;

  constructor(fs: DiskFs, { root, digests, fence, tempNames }: DiskOptions) {
    this.#fs = fs;
    this.#root = root;
    this.#reader = new DiskReader(fs, root, digests);
    this.#fence = fence && new Fence(fence);
    this.#tempNames = tempNames;
  }

  list(): SavedCheckpoint[] {
    return this.#reader.list();
  }

  load(options?: LoadOptions): LoadedCheckpoint {
    return this.#reader.load(options);
  }

  read(name: string, file: string): Uint8Array {
    return this.#reader.read(name, file);
  }

  verify(name: string, files?: readonly string[]): void {
    this.#reader.verify(name, files);
  }

  save(name: string, files: FileParts, info: CheckpointInfo): SavedCheckpoint {
    return this.finish(this.begin(name, Object.keys(files)), name, files, {}, info);
  }

  /** Makes the temporary directory of a new checkpoint with these files. */
  begin(name: string, files: readonly string[]): string {
    checkName("a checkpoint's name", name);
    for (const file of files) checkName("a file's name in a checkpoint", file);
    this.#checkFence();
    makeDirectory(this.#fs, this.#root);
    const temp = `${this.#root}/${TEMP}${this.#nextId()}`;
    return this.#orAbandon(temp, name, () => {
      guarded(temp, () => this.#fs.mkdirSync(temp));
      return temp;
    });
  }

  /** Writes these files, makes those of given sizes durable that were written there already, and commits. */
  finish(
    temp: string,
    name: string,
    files: FileParts,
    there: Readonly<Record<string, number>>,
    info: CheckpointInfo,
  ): SavedCheckpoint {
    return this.#orAbandon(temp, name, () => {
      const entries = this.#write(temp, name, files, there, info);
      const id = temp.slice(`${this.#root}/${TEMP}`.length);
      const dir = this.#commit(temp, name, `${this.#root}/${ASIDE}${id}`);
      return { ...info, name, dir, files: entries };
    });
  }

  /** Deletes an unfinished checkpoint: the disk may be full. */
  abandon(temp: string): void {
    if (exists(this.#fs, temp)) deleteQuietly(this.#fs, temp);
  }

  #orAbandon<T>(temp: string, name: string, body: () => T): T {
    try {
      return body();
    } catch (error) {
      this.abandon(temp);
      throw error instanceof CheckpointError ? error.inPlaceOf(temp, `${this.#root}/${name}`) : error;
    }
  }

  remove(names: readonly string[]): void {
    const present = names.map((name) => checkName("a checkpoint's name", name));
    this.#discard(present.map((name) => `${this.#root}/${name}`).filter((path) => exists(this.#fs, path)));
  }

  sweep(): string[] {
    const left = this.#reader
      .folders()
      .filter((name) => [TEMP, TRASH, ASIDE, LOCK_TEMP].some((p) => name.startsWith(p)));
    for (const folder of left) {
      const path = `${this.#root}/${folder}`;
      if (folder.startsWith(ASIDE)) this.#settle(folder);
      else {
        this.#checkFence();
        deleteAll(this.#fs, path);
      }
    }
    return left;
  }

  #write(
    temp: string,
    name: string,
    files: FileParts,
    there: Readonly<Record<string, number>>,
    info: CheckpointInfo,
  ): Record<string, FileEntry> {
    const sealed = Object.entries(there).map(
      ([file, size]) => [file, sealFile(this.#fs, `${temp}/${file}`, size)] as const,
    );
    const written = Object.entries(files).map(
      ([file, bytes]) => [file, writeDurably(this.#fs, `${temp}/${file}`, chunksOf(bytes))] as const,
    );
    const entries = Object.fromEntries([...sealed, ...written]);
    const body = manifestBody({ ...info, name, files: entries });
    writeDurably(this.#fs, `${temp}/${MANIFEST}`, [new TextEncoder().encode(sealManifest(body, sha256Of(body)))]);
    syncDirectory(this.#fs, temp);
    return entries;
  }

  /** Gives a finished directory its name. An existing one of that name is moved aside, where readers still find it. */
  #commit(temp: string, name: string, aside: string): string {
    const final = `${this.#root}/${name}`;
    const replaces = exists(this.#fs, final);
    try {
      if (replaces) this.#rename(final, aside);
      if (replaces) syncDirectory(this.#fs, this.#root);
      this.#rename(temp, final);
      syncDirectory(this.#fs, this.#root);
    } catch (error) {
      quietly(() => this.#undo(temp, final, replaces ? aside : undefined));
      throw error;
    }
    // The new one is durable. If removing the old one fails, the next sweep does it.
    if (replaces) quietly(() => this.#discard([aside]));
    return final;
  }

  /** Restores the store as it was before a failed save, so that the caller can retry. */
  #undo(temp: string, final: string, aside: string | undefined): void {
    const wasRenamed = !exists(this.#fs, temp);
    if (wasRenamed) this.#rename(final, temp);
    if (aside !== undefined && exists(this.#fs, aside)) this.#rename(aside, final);
    syncDirectory(this.#fs, this.#root);
  }

  /** Renames before deleting: a half-deleted directory would look like a damaged checkpoint. */
  #discard(paths: readonly string[]): void {
    if (paths.length === 0) return;
    const trash = paths.map((path) => {
      const to = `${this.#root}/${TRASH}${this.#nextId()}`;
      this.#rename(path, to);
      return to;
    });
    syncDirectory(this.#fs, this.#root);
    for (const path of trash) deleteAll(this.#fs, path);
  }

  /** After a crash during a replacement: discards the old checkpoint if the new one is intact, else restores it. */
  #settle(folder: string): void {
    const path = `${this.#root}/${folder}`;
    const found = this.#reader.look(folder);
    // Written by a newer version, which will handle it.
    if (found.kind === "newer") return;
    if (found.kind === "bad" || this.#reader.isIntact(found.manifest.name)) return this.#discard([path]);
    const final = `${this.#root}/${found.manifest.name}`;
    if (exists(this.#fs, final)) this.#discard([final]);
    this.#rename(path, final);
    syncDirectory(this.#fs, this.#root);
  }

  /** Everything is committed or deleted by a rename, so this is where the lock is checked. */
  #rename(from: string, to: string): void {
    this.#checkFence();
    guarded(from, () => this.#fs.renameSync(from, to));
  }

  #checkFence(): void {
    const fence = this.#fence;
    if (fence) guarded(fence.mark.file, () => fence.check());
  }

  #nextId(): string {
    this.#count++;
    return this.#tempNames === undefined
      ? globalThis.crypto.randomUUID().slice(0, 13)
      : `${this.#tempNames}${this.#count}`;
  }
}

/** The methods of Disk that can be called in the thread. */
export type DiskMethod = "save" | "finish" | "abandon" | "list" | "read" | "load" | "verify" | "remove" | "sweep";

export interface DiskCall {
  readonly method: DiskMethod;
  readonly args: readonly unknown[];
}

/** Calls a method by name. `DiskThread.call` ties the arguments to the method by type; here they come from a message. */
export function callDisk(disk: Disk, { method, args }: DiskCall): unknown {
  return (disk[method] as (...args: unknown[]) => unknown).call(disk, ...args);
}
