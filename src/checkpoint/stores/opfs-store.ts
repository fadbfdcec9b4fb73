// Checkpoints in the browser's private file system (OPFS). It cannot rename directories, so writing the manifest last is
// the commit.
import { CheckpointError } from "../../core/errors.ts";
import {
  LARGEST_MANIFEST,
  MANIFEST,
  MANIFEST_END,
  digestOf,
  manifestBody,
  parseManifest,
  sealManifest,
} from "../manifest.ts";
import {
  type CheckpointInfo,
  type CheckpointStore,
  type FileEntry,
  type FileParts,
  type LoadOptions,
  type LoadedCheckpoint,
  type SavedCheckpoint,
  CallQueue,
  inOnePiece,
} from "../store.ts";
import { checkName } from "../../core/safe-name.ts";
import {
  type Found,
  type Opened,
  type Valid,
  asSkipped,
  inLoadOrder,
  nameOf,
  newerVersion,
  nothingLoaded,
  visible,
  wantedFiles,
} from "./scan.ts";
import { codeOf, damaged, problem } from "../../platform/file-errors.ts";

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

/** Keeps a second tab out. The browser releases the lock when the tab ends. */
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
  readonly #calls: CallQueue;
  #count = 0;

  constructor(root: FileSystemDirectoryHandle, path: string, release: () => void) {
    this.#root = root;
    this.#path = path;
    this.#calls = new CallQueue(path);
    this.#release = release;
    this.#reader = new OpfsReader(root, path);
  }

  save(name: string, files: FileParts, info: CheckpointInfo): Promise<SavedCheckpoint> {
    return this.#calls.add(() => this.#save(name, files, info));
  }

  list(): Promise<SavedCheckpoint[]> {
    return this.#calls.add(() => this.#reader.list());
  }

  load(options?: LoadOptions) {
    return this.#calls.add(() => this.#reader.load(options));
  }

  async read(name: string, file: string): Promise<Uint8Array> {
    return (await this.load({ name, files: [file] })).files[file]!;
  }

  verify(name: string, files?: readonly string[]): Promise<void> {
    return this.#calls.add(() => this.#reader.verify(name, files));
  }

  remove(names: readonly string[]): Promise<void> {
    return this.#calls.add(async () => {
      for (const found of await this.#reader.scan()) {
        if (found.kind === "valid" && names.includes(found.manifest.name)) await this.#discard(found.folder);
      }
    });
  }

  sweep(): Promise<string[]> {
    return this.#calls.add(async () => {
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
    await this.#calls.close();
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
        // Browsers digest whole files only, and neither digest nor write shared memory.
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
      // Report the first error; the next sweep removes what is left.
      await this.#discard(folder).catch(() => undefined);
      throw error;
    }
  }

  /** Removes the manifest first: without it the folder is no checkpoint, and the order of the rest does not matter. */
  async #discard(folder: string): Promise<void> {
    await removeEntry(await this.#root.getDirectoryHandle(folder), MANIFEST);
    await removeEntry(this.#root, folder, true);
  }

  /** Sorts by time, so that the later of two folders of one name is known. */
  #nextId(): string {
    return `${Date.now().toString(36).padStart(9, "0")}${(this.#count++ % 1296).toString(36).padStart(2, "0")}`;
  }
}

/** The counterpart of DiskReader, with asynchronous calls. */
class OpfsReader {
  readonly #root: FileSystemDirectoryHandle;
  readonly #path: string;

  constructor(root: FileSystemDirectoryHandle, path: string) {
    this.#root = root;
    this.#path = path;
  }

  async list(): Promise<SavedCheckpoint[]> {
    const intact: Valid[] = [];
    for (const found of await this.scan()) {
      if (found.kind === "valid" && !(await this.#badSize(found))) intact.push(found);
    }
    return visible(intact, saved);
  }

  async load({ name, files }: LoadOptions = {}): Promise<LoadedCheckpoint> {
    return this.#firstIntact(name, files, (bytes) => bytes);
  }

  async verify(name: string, files?: readonly string[]): Promise<void> {
    await this.#firstIntact(name, files, () => undefined);
  }

  /** `keep` returns what to keep of an intact file, so that verifying needs memory for one file only. */
  async #firstIntact<T>(
    name: string | undefined,
    files: readonly string[] | undefined,
    keep: (bytes: Uint8Array) => T,
  ): Promise<Opened<T> & Pick<LoadedCheckpoint, "skipped">> {
    const all = inLoadOrder(await this.scan());
    const candidates = name === undefined ? all : all.filter((found) => nameOf(found) === name);
    const problems: CheckpointError[] = [];
    for (const found of candidates) {
      const opened = await this.#tryOpen(found, files, keep);
      if (!(opened instanceof CheckpointError)) {
        return { ...opened, skipped: problems.map((error, i) => asSkipped(candidates[i]!, error)) };
      }
      problems.push(opened);
    }
    throw nothingLoaded(this.#path, name, problems, all);
  }

  /** Every folder with a manifest. One without was never committed, which is no damage. */
  async scan(): Promise<Found[]> {
    const folders: string[] = [];
    for await (const [folder, { kind }] of this.#root.entries()) if (kind === "directory") folders.push(folder);
    const found: Found[] = [];
    for (const folder of folders) {
      const each = await this.#look(folder);
      if (each) found.push(each);
    }
    // Of several folders for one name, the last one saved counts.
    const last = new Map(found.toSorted((a, b) => (a.folder < b.folder ? -1 : 1)).map((each) => [nameOf(each), each]));
    return found.map((each) => ({ ...each, replaced: last.get(nameOf(each)) !== each }));
  }

  async #look(folder: string): Promise<Found | undefined> {
    const dir = `${this.#path}/${folder}`;
    const path = `${dir}/${MANIFEST}`;
    const place = { folder, dir, replaced: false, step: Infinity };
    const bad = (error: unknown): Found => ({ ...place, kind: "bad", error: problem(path, error) });
    try {
      const handle = await this.#root.getDirectoryHandle(folder);
      const size = await fileSize(handle, MANIFEST);
      // The file exists before its contents are written.
      if (size === undefined || size === 0) return undefined;
      if (size > LARGEST_MANIFEST) return bad(damaged(path, `it has ${size} bytes, too many for a manifest`));
      const raw = new TextDecoder().decode(await readFile(handle, MANIFEST, path));
      // Truncated: an interrupted save, not a damaged checkpoint.
      if (!raw.endsWith(MANIFEST_END)) return undefined;
      const text = parseManifest(raw);
      if (text.kind === "newer") return { ...place, ...text };
      if (text.kind === "bad") return bad(damaged(path, text.reason));
      if ((await digestOf(text.body)) !== text.digest)
        return bad(damaged(path, "its digest does not fit its contents"));
      return { ...place, kind: "valid", manifest: text.manifest, step: text.manifest.step };
    } catch (error) {
      return bad(error);
    }
  }

  async #badSize({ dir, folder, manifest }: Valid): Promise<CheckpointError | undefined> {
    const handle = await this.#root.getDirectoryHandle(folder);
    for (const [file, { bytes }] of Object.entries(manifest.files)) {
      const size = await fileSize(handle, file);
      if (size === undefined) return damaged(`${dir}/${file}`, "it is missing");
      if (size !== bytes) return damaged(`${dir}/${file}`, `it has ${size} bytes instead of ${bytes}`);
    }
    return undefined;
  }

  async #tryOpen<T>(
    found: Found,
    only: readonly string[] | undefined,
    keep: (bytes: Uint8Array) => T,
  ): Promise<Opened<T> | CheckpointError> {
    if (found.kind === "bad") return found.error;
    if (found.kind === "newer") throw newerVersion(found.dir, found.schema);
    const wanted = wantedFiles(found, only);
    try {
      const wrong = await this.#badSize(found);
      if (wrong) return wrong;
      const handle = await this.#root.getDirectoryHandle(found.folder);
      const files: [string, T][] = [];
      for (const file of wanted) {
        const path = `${found.dir}/${file}`;
        const bytes = await readFile(handle, file, path);
        if (!bytes) return damaged(path, "it is missing");
        const { sha256 } = found.manifest.files[file]!;
        if ((await digestOf(bytes)) !== sha256) return damaged(path, "its SHA-256 is not the manifest's");
        files.push([file, keep(bytes)]);
      }
      return { checkpoint: saved(found), files: Object.fromEntries(files) };
    } catch (error) {
      return problem(found.dir, error);
    }
  }
}

const saved = ({ manifest, dir }: Valid): SavedCheckpoint => ({ ...manifest, dir });

interface SyncAccess {
  write(bytes: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
}

/** Only in workers. It is the only way to flush bytes to the disk. */
type WithSyncAccess = FileSystemFileHandle & { createSyncAccessHandle?(): Promise<SyncAccess> };

/** Writes a new file and checks its size: over quota, some calls report bytes that they did not write. */
async function writeFile(
  dir: FileSystemDirectoryHandle,
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  path: string,
): Promise<void> {
  try {
    const handle: WithSyncAccess = await dir.getFileHandle(name, { create: true });
    if (handle.createSyncAccessHandle) {
      writeAndFlush(await handle.createSyncAccessHandle(), bytes);
    } else {
      const stream = await handle.createWritable();
      await stream.write(bytes);
      await stream.close();
    }
    const { size } = await handle.getFile();
    if (size !== bytes.byteLength) throw quota(path, size, bytes.byteLength);
  } catch (error) {
    throw problem(path, error);
  }
}

function writeAndFlush(access: SyncAccess, bytes: Uint8Array): void {
  try {
    for (let at = 0; at < bytes.byteLength;) {
      const written = access.write(bytes.subarray(at), { at });
      // The check of the file's size reports what is missing.
      if (!(written > 0)) break;
      at += written;
    }
    access.flush();
  } finally {
    access.close();
  }
}

function quota(path: string, size: number, expected: number): CheckpointError {
  return new CheckpointError(
    path,
    `${size} of ${expected} bytes were written`,
    "The browser's storage quota may be used up: keep fewer checkpoints (`saveTotalLimit`).",
  );
}

/** The contents of a file, or undefined if there is none. */
async function readFile(
  dir: FileSystemDirectoryHandle,
  name: string,
  path: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const file = await (await dir.getFileHandle(name)).getFile();
    return new Uint8Array(await file.arrayBuffer());
  } catch (error) {
    if (codeOf(error) === "NotFoundError") return undefined;
    throw problem(path, error);
  }
}

/** The size of a file, or undefined if there is none. */
async function fileSize(dir: FileSystemDirectoryHandle, name: string): Promise<number | undefined> {
  try {
    return (await (await dir.getFileHandle(name)).getFile()).size;
  } catch (error) {
    if (codeOf(error) === "NotFoundError") return undefined;
    throw problem(name, error);
  }
}

/** Removes a file or directory, if it exists. */
async function removeEntry(dir: FileSystemDirectoryHandle, name: string, recursive = false): Promise<void> {
  try {
    await dir.removeEntry(name, { recursive });
  } catch (error) {
    if (codeOf(error) !== "NotFoundError") throw problem(name, error);
  }
}
