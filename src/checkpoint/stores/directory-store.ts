// Checkpoints in a directory: locked for one writer, written by a thread, one call at a time.
import { CheckpointError } from "../../core/errors.ts";
import { messageOf } from "../../core/maybe.ts";
import { checkOptions, is } from "../../core/options.ts";
import { builtin } from "../../platform/builtin.ts";
import { nodeFs } from "../../platform/durable-files.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { Thread } from "../../platform/thread.ts";
import { type Lock, lockDirectory } from "../../runs/lock.ts";
import {
  CallQueue,
  type CheckpointInfo,
  type CheckpointStore,
  type FileParts,
  type LentFiles,
  type LoadedCheckpoint,
  type LoadOptions,
  type SavedCheckpoint,
  toShared,
} from "../store.ts";
import { callDisk, Disk, type DiskCall, type DiskMethod, type DiskOptions } from "./disk.ts";
import { withLentFiles } from "./lent-files.ts";

/** Options of `openDirectoryStore`. */
export interface DirectoryStoreOptions {
  /** Only reads: takes no lock and removes nothing, so that a directory in use by a run can be read. */
  readonly readOnly?: boolean;
  /** `"sizes"` compares only the sizes of files, not their digests; default `"digests"`. */
  readonly verify?: "digests" | "sizes";
  /** False does the work in the calling thread; default true. */
  readonly thread?: boolean;
}

const CHECKS = { readOnly: is.boolean, verify: is.oneOf("digests", "sizes"), thread: is.boolean };

/** Opens the checkpoints in a directory, `runs/<name>/checkpoints`. Unless `readOnly`, it is created, locked and swept. */
export async function openDirectoryStore(dir: string, options: DirectoryStoreOptions = {}): Promise<CheckpointStore> {
  checkOptions("openDirectoryStore", { dir, ...options }, { dir: is.name, ...CHECKS }, ["dir"]);
  const { readOnly = false, verify = "digests", thread = true } = options;
  const { resolve } = builtin("The checkpoint directory", "node:path");
  const root = resolve(dir);
  const lock = readOnly ? undefined : lockDirectory(root);
  return openStore(root, lock, { digests: verify === "digests", thread });
}

/** The same under a lock that the caller took. It is released when the store is closed. */
export async function openStore(
  root: string,
  lock: Lock | undefined,
  { digests, thread }: { readonly digests: boolean; readonly thread: boolean },
): Promise<CheckpointStore> {
  const disk = new DiskThread({ root, digests, fence: lock?.fence.mark }, { thread });
  const store = new DirectoryStore(root, disk, lock);
  try {
    if (lock) await store.sweep();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function allShared(files: FileParts): Promise<FileParts> {
  const shared: [string, readonly Uint8Array[]][] = [];
  for (const [file, bytes] of Object.entries(files)) shared.push([file, await toShared(bytes)]);
  return Object.fromEntries(shared);
}

class DirectoryStore implements CheckpointStore {
  readonly #root: string;
  readonly #disk: DiskThread;
  readonly #lock: Lock | undefined;
  readonly #calls: CallQueue;
  readonly saveLent?: NonNullable<CheckpointStore["saveLent"]>;

  constructor(root: string, disk: DiskThread, lock: Lock | undefined) {
    this.#root = root;
    this.#calls = new CallQueue(root);
    this.#disk = disk;
    this.#lock = lock;
    const { platform } = builtin("The checkpoint directory", "node:process");
    // Windows renames no directory in which a file is open.
    if (platform !== "win32") this.saveLent = (...args) => this.#saveLent(...args);
  }

  async save(name: string, files: FileParts, info: CheckpointInfo): Promise<SavedCheckpoint> {
    this.#assertWritable();
    return this.#calls.add(async () => {
      const chunks = this.#disk.isThreaded ? await allShared(files) : files;
      return this.#disk.call("save", name, chunks, info);
    });
  }

  async list(): Promise<SavedCheckpoint[]> {
    return this.#call("list");
  }

  async read(name: string, file: string): Promise<Uint8Array> {
    return this.#call("read", name, file);
  }

  async load(options?: LoadOptions): Promise<LoadedCheckpoint> {
    return this.#call("load", options);
  }

  async verify(name: string, files?: readonly string[]): Promise<void> {
    return this.#call("verify", name, files);
  }

  async remove(names: readonly string[]): Promise<void> {
    this.#assertWritable();
    return this.#call("remove", names);
  }

  async sweep(): Promise<string[]> {
    this.#assertWritable();
    return this.#call("sweep");
  }

  async close(): Promise<void> {
    await this.#calls.close();
    await this.#disk.close();
    this.#lock?.release();
  }

  async #saveLent(name: string, files: FileParts, lent: LentFiles, info: CheckpointInfo): Promise<SavedCheckpoint> {
    this.#assertWritable();
    return this.#calls.add(async () => {
      const others = await allShared(files);
      // In this thread, which then opens the files at once: a file system does not turn read-only while one is open.
      const temp = this.#disk.here.begin(name, [...Object.keys(lent), ...Object.keys(files)]);
      try {
        return await withLentFiles(temp, lent, (sizes) => this.#disk.call("finish", temp, name, others, sizes, info));
      } catch (error) {
        await this.#disk.call("abandon", temp);
        throw error instanceof CheckpointError ? error.inPlaceOf(temp, `${this.#root}/${name}`) : error;
      }
    });
  }

  #call<M extends DiskMethod>(method: M, ...args: Parameters<Disk[M]>): Promise<ReturnType<Disk[M]>> {
    return this.#calls.add(() => this.#disk.call(method, ...args));
  }

  #assertWritable(): void {
    if (this.#lock) return;
    throw new CheckpointError(this.#root, "the store was opened to read only", "Open it without `readOnly`.");
  }
}

/**
 * Runs a Disk in a thread of its own, so that training does not wait for it. If the thread fails, the calling thread does
 * the work: a checkpoint matters more than time.
 */
class DiskThread {
  /** The same directory from the calling thread. */
  readonly here: Disk;
  #thread: Thread<DiskCall> | undefined;
  /** Why the thread is gone. */
  #ended: unknown;

  /** `thread: false` does all work in the calling thread. */
  constructor(options: DiskOptions, { thread }: { readonly thread: boolean }) {
    this.here = new Disk(nodeFs(), options);
    if (!thread) return;
    try {
      this.#thread = new Thread<DiskCall>({
        name: "the writing thread",
        script: { beside: import.meta.url, name: "disk-worker" },
        data: options,
        onEnd: (error) => this.#takeOver(error),
      });
    } catch (error) {
      this.#takeOver(error);
    }
  }

  /** Whether calls go to another thread, which reads shared memory in place and everything else as a copy. */
  get isThreaded(): boolean {
    return this.#thread !== undefined;
  }

  async call<M extends DiskMethod>(method: M, ...args: Parameters<Disk[M]>): Promise<ReturnType<Disk[M]>> {
    const call = { method, args };
    try {
      if (this.#thread) return (await this.#thread.request(call)) as ReturnType<Disk[M]>;
    } catch (error) {
      if (error !== this.#ended) throw error;
    }
    return callDisk(this.here, call) as ReturnType<Disk[M]>;
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close();
  }

  /** A bundler that leaves out the thread's script, or too little memory, must not cost a checkpoint. */
  #takeOver(cause: unknown): void {
    this.#ended = cause;
    this.#thread = undefined;
    currentPlatform().warn(
      `checkpoints are written on the training thread, since the writing thread failed: ${messageOf(cause)}`,
    );
  }
}
