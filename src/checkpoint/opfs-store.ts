// Checkpoints in the browser's own file system. It has no rename of directories: the manifest, written last, is the commit.
import { CheckpointError } from "../core/errors.ts";
import { digestOf } from "./digest.ts";
import { MANIFEST, manifestBody, sealManifest } from "./manifest.ts";
import { removeEntry, writeFile } from "./opfs-files.ts";
import { OpfsReader } from "./opfs-reader.ts";
import { inOnePiece } from "./parts.ts";
import { checkName } from "../core/safe-name.ts";
import type { CheckpointInfo, CheckpointStore, FileEntry, FileParts, LoadOptions, SavedCheckpoint } from "./store.ts";
import { Turns } from "./turns.ts";

/**
 * Opens the checkpoints under a path like `runs/mnist/checkpoints` of this origin. In a worker files are flushed to the
 * disk; in a page the browser decides when.
 */
export async function openOpfsStore(path: string): Promise<CheckpointStore> {
  const parts = path.split("/").map((part) => checkName("each part of a path in the browser's storage", part));
  const { storage, locks } = navigator;
  if (!storage?.getDirectory || !locks) {
    throw new CheckpointError(path, "this browser has no private file system here", "Use https or localhost.");
  }
  const release = await takeLock(locks, path);
  let root = await storage.getDirectory();
  for (const part of parts) root = await root.getDirectoryHandle(part, { create: true });
  const store = new OpfsStore(root, path, release);
  await store.sweep();
  return store;
}

/** Two tabs on one directory: the browser frees the lock when a tab ends, however it ends. */
async function takeLock(locks: LockManager, path: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const held = (lock: Lock | null): Promise<void> | undefined => {
      if (lock) return new Promise<void>((release) => resolve(release));
      reject(new CheckpointError(path, "another tab or worker uses it", "Close that one, or choose another path."));
      return undefined;
    };
    locks.request(`hookline:${path}`, { ifAvailable: true }, held).catch(reject);
  });
}

class OpfsStore implements CheckpointStore {
  readonly #root: FileSystemDirectoryHandle;
  readonly #path: string;
  readonly #release: () => void;
  readonly #reader: OpfsReader;
  readonly #turns: Turns;
  #count = 0;

  constructor(root: FileSystemDirectoryHandle, path: string, release: () => void) {
    this.#root = root;
    this.#path = path;
    this.#turns = new Turns(path);
    this.#release = release;
    this.#reader = new OpfsReader(root, path);
  }

  save(name: string, files: FileParts, info: CheckpointInfo): Promise<SavedCheckpoint> {
    return this.#turns.take(() => this.#save(name, files, info));
  }

  list(): Promise<SavedCheckpoint[]> {
    return this.#turns.take(() => this.#reader.list());
  }

  load(options?: LoadOptions) {
    return this.#turns.take(() => this.#reader.load(options));
  }

  async read(name: string, file: string): Promise<Uint8Array> {
    return (await this.load({ name, files: [file] })).files[file]!;
  }

  verify(name: string, files?: readonly string[]): Promise<void> {
    return this.#turns.take(() => this.#reader.verify(name, files));
  }

  remove(names: readonly string[]): Promise<void> {
    return this.#turns.take(async () => {
      for (const found of await this.#reader.scan()) {
        if (found.kind === "valid" && names.includes(found.manifest.name)) await this.#discard(found.folder);
      }
    });
  }

  sweep(): Promise<string[]> {
    return this.#turns.take(async () => {
      const found = await this.#reader.scan();
      const present = new Set(found.filter(({ replaced }) => !replaced).map(({ folder }) => folder));
      const left: string[] = [];
      for await (const [folder, { kind }] of this.#root.entries()) {
        if (kind === "directory" && !present.has(folder)) left.push(folder);
      }
      for (const folder of left) await this.#discard(folder);
      return left;
    });
  }

  async close(): Promise<void> {
    await this.#turns.close();
    this.#release();
  }

  async #save(name: string, files: FileParts, info: CheckpointInfo): Promise<SavedCheckpoint> {
    checkName("a checkpoint's name", name);
    for (const file of Object.keys(files)) checkName("a file's name in a checkpoint", file);
    const before = (await this.#reader.scan()).filter(
      (found) => found.kind === "valid" && found.manifest.name === name,
    );
    const folder = `${name}~${this.#nextId()}`;
    const dir = `${this.#path}/${folder}`;
    try {
      const handle = await this.#root.getDirectoryHandle(folder, { create: true });
      const entries: [string, FileEntry][] = [];
      for (const [file, parts] of Object.entries(files)) {
        // The browser digests whole files only, and neither digests nor writes shared memory.
        const bytes = inOnePiece(parts);
        await writeFile(handle, file, bytes, `${dir}/${file}`);
        entries.push([file, { bytes: bytes.byteLength, sha256: await digestOf(bytes) }]);
      }
      const manifest = { ...info, name, files: Object.fromEntries(entries) };
      const body = manifestBody(manifest);
      const text = sealManifest(body, await digestOf(body));
      await writeFile(handle, MANIFEST, new TextEncoder().encode(text), `${dir}/${MANIFEST}`);
      for (const { folder } of before) await this.#discard(folder).catch(() => undefined);
      return { ...manifest, dir };
    } catch (error) {
      // The error is the one to report; what stays is removed by the next sweep.
      await this.#discard(folder).catch(() => undefined);
      throw error;
    }
  }

  /** Without its manifest it is no checkpoint any more; then the rest may go in any order. */
  async #discard(folder: string): Promise<void> {
    await removeEntry(await this.#root.getDirectoryHandle(folder), MANIFEST);
    await removeEntry(this.#root, folder, true);
  }

  /** Sorts by time, which tells of two folders of one name the later. */
  #nextId(): string {
    return `${Date.now().toString(36).padStart(9, "0")}${(this.#count++ % 1296).toString(36).padStart(2, "0")}`;
  }
}
