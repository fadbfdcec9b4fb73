// Checkpoints in a directory: one writer at a time, a thread for the work, one call after the other.
import { CheckpointError } from "../core/errors.ts";
import { checkOptions, is } from "../core/options.ts";
import { builtin } from "../platform/builtin.ts";
import { callDisk, type DiskMethod } from "./disk-calls.ts";
import { nodeFs } from "../platform/durable-files.ts";
import { DiskThread, type DiskAccess } from "./disk-thread.ts";
import { Disk } from "./disk.ts";
import { lockDirectory, type Lock } from "../runs/lock.ts";
import { withLentFiles } from "./lent-files.ts";
import { toShared } from "./shared-bytes.ts";
import type {
  CheckpointInfo,
  CheckpointStore,
  FileParts,
  LentFiles,
  LoadedCheckpoint,
  LoadOptions,
  SavedCheckpoint,
} from "./store.ts";
import { Turns } from "./turns.ts";

/** Options of `openDirectoryStore`. */
export interface DirectoryStoreOptions {
  /** Only reads: takes no lock and sweeps nothing, so that it may look at a directory that a run is using. */
  readonly readOnly?: boolean;
  /** `"sizes"` trusts files of the right size without reading them through; default `"digests"`. */
  readonly verify?: "digests" | "sizes";
  /** False does the work in the calling thread, which waits for the disk; default true. */
  readonly thread?: boolean;
}

const CHECKS = { readOnly: is.boolean, verify: is.oneOf("digests", "sizes"), thread: is.boolean };

/** Opens the checkpoints in a directory, `runs/<name>/checkpoints`; unless it only reads, it is made, locked and swept. */
export async function openDirectoryStore(dir: string, options: DirectoryStoreOptions = {}): Promise<CheckpointStore> {
  checkOptions("openDirectoryStore", { dir, ...options }, { dir: is.name, ...CHECKS }, ["dir"]);
  const { readOnly = false, verify = "digests", thread = true } = options;
  const { resolve } = builtin<{ resolve(path: string): string }>("The checkpoint directory", "node:path");
  const root = resolve(dir);
  const lock = readOnly ? undefined : lockDirectory(root);
  return openStore(root, lock, { digests: verify === "digests", thread });
}

/** The same under a lock that the caller holds, which is released when the store is closed. */
export async function openStore(
  root: string,
  lock: Lock | undefined,
  { digests, thread }: { readonly digests: boolean; readonly thread: boolean },
): Promise<CheckpointStore> {
  const diskOptions = { root, digests, fence: lock?.fence.mark };
  const here = new Disk(nodeFs(), diskOptions);
  const store = new DirectoryStore(root, here, thread ? new DiskThread(diskOptions) : sameThread(here), lock);
  try {
    if (lock) await store.sweep();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

function sameThread(disk: Disk): DiskAccess {
  return {
    call: async (method, ...args) => callDisk(disk, { method, args }) as never,
    close: async () => undefined,
  };
}

async function allShared(files: FileParts): Promise<FileParts> {
  const shared: [string, readonly Uint8Array[]][] = [];
  for (const [file, bytes] of Object.entries(files)) shared.push([file, await toShared(bytes)]);
  return Object.fromEntries(shared);
}

class DirectoryStore implements CheckpointStore {
  readonly #root: string;
  readonly #here: Disk;
  readonly #disk: DiskAccess;
  readonly #lock: Lock | undefined;
  readonly #turns: Turns;
  readonly saveLent?: NonNullable<CheckpointStore["saveLent"]>;

  constructor(root: string, here: Disk, disk: DiskAccess, lock: Lock | undefined) {
    this.#root = root;
    this.#here = here;
    this.#turns = new Turns(root);
    this.#disk = disk;
    this.#lock = lock;
    const { platform } = builtin<{ platform: string }>("The checkpoint directory", "node:process");
    // Windows renames no directory in which a file is open.
    if (platform !== "win32") this.saveLent = (...args) => this.#saveLent(...args);
  }

  async save(name: string, files: FileParts, info: CheckpointInfo): Promise<SavedCheckpoint> {
    this.#assertWritable();
    return this.#turns.take(async () => {
      if (!(this.#disk instanceof DiskThread)) return this.#disk.call("save", name, files, info);
      return this.#disk.call("save", name, await allShared(files), info);
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
    await this.#turns.close();
    await this.#disk.close();
    this.#lock?.release();
  }

  async #saveLent(name: string, files: FileParts, lent: LentFiles, info: CheckpointInfo): Promise<SavedCheckpoint> {
    this.#assertWritable();
    return this.#turns.take(async () => {
      const others = await allShared(files);
      // In this thread, which then opens the files at once: as long as one is open, no disk turns read-only.
      const temp = this.#here.begin(name, [...Object.keys(lent), ...Object.keys(files)]);
      try {
        return await withLentFiles(temp, lent, (sizes) => this.#disk.call("finish", temp, name, others, sizes, info));
      } catch (error) {
        await this.#disk.call("abandon", temp);
        throw error instanceof CheckpointError ? error.inPlaceOf(temp, `${this.#root}/${name}`) : error;
      }
    });
  }

  #call<M extends DiskMethod>(method: M, ...args: Parameters<Disk[M]>): Promise<ReturnType<Disk[M]>> {
    return this.#turns.take(() => this.#disk.call(method, ...args));
  }

  #assertWritable(): void {
    if (this.#lock) return;
    throw new CheckpointError(this.#root, "the store was opened to read only", "Open it without `readOnly`.");
  }
}
