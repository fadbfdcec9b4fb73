// Single files and checkpoint directories at paths that people give: read, verified, and written atomically.
import { CheckpointError, HooklineError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";
import { type Builtin, builtin } from "../../platform/builtin.ts";
import { codeOf, damaged, problem } from "../../platform/file-errors.ts";
import { LARGEST_MANIFEST, MANIFEST, digestOf, parseManifest } from "../manifest.ts";
import { newerVersion } from "../stores/scan.ts";
import type { FileEntry, SavedCheckpoint } from "../store.ts";
import type { ByteSource } from "../formats/tensor.ts";

type Fs = Builtin<"node:fs/promises">;
type Handle = Awaited<ReturnType<Fs["open"]>>;
type Path = Builtin<"node:path">;

const OWNER = "Reading checkpoints from a path";
/** How much of a file is in memory while its digest is computed. */
const PIECE = 4 << 20;

/** Systems refuse to read or write more than 2 GiB in one call. */
const LARGEST_CALL = 1 << 30;

const nodeFiles = (): Fs => builtin(OWNER, "node:fs/promises");
export const nodePath = (): Path => builtin(OWNER, "node:path");

/** A file with its size, or a directory with its sorted names. */
type Entry =
  | { readonly kind: "file"; readonly bytes: number }
  | { readonly kind: "directory"; readonly names: readonly string[] };

/** Runs `body`; what the system throws becomes a CheckpointError about `path`. */
export async function onDisk<T>(path: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw error instanceof HooklineError ? error : problem(path, error);
  }
}

/** What is at a path. If there is nothing, the error suggests the nearest name. */
export async function entryAt(path: string): Promise<Entry> {
  return onDisk(path, async () => {
    const fs = nodeFiles();
    const found = await fs.stat(path).catch(async (error: unknown) => {
      throw codeOf(error) === "ENOENT" ? await notThere(path) : error;
    });
    if (found.isDirectory()) return { kind: "directory", names: (await fs.readdir(path)).sort() };
    if (found.isFile()) return { kind: "file", bytes: found.size };
    throw new CheckpointError(path, "it is neither a file nor a directory", "Give the path of one.");
  });
}

async function notThere(path: string): Promise<CheckpointError> {
  const { basename, dirname } = nodePath();
  const beside = await nodeFiles()
    .readdir(dirname(path))
    .catch(() => []);
  return new CheckpointError(path, "it does not exist", `Check the path.${didYouMean(basename(path), beside)}`);
}

function assertFile(path: string, found: { isFile(): boolean }): void {
  if (!found.isFile()) throw new CheckpointError(path, "it is not a plain file", "Give the path of one.");
}

/** Files that are open for reading, all closed together. */
export class OpenFiles {
  readonly #handles: Handle[] = [];

  async open(path: string): Promise<ByteSource> {
    return onDisk(path, async () => {
      const fs = nodeFiles();
      const { O_RDONLY, O_NONBLOCK } = fs.constants;
      // Opening a device may have effects, so its kind is checked first. Opening a pipe must not wait for a writer.
      assertFile(path, await fs.stat(path));
      const handle = await fs.open(path, O_RDONLY | O_NONBLOCK);
      this.#handles.push(handle);
      const found = await handle.stat();
      assertFile(path, found);
      return { size: found.size, read: (offset, length) => readAt(handle, offset, length) };
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#handles.splice(0).map((handle) => handle.close()));
  }
}

/** Short reads are continued; at the end of the file there may be less. */
async function readAt(handle: Handle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, Math.min(length - done, LARGEST_CALL), offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}

/** The whole of a file. */
export async function bytesOf(path: string): Promise<Uint8Array> {
  const files = new OpenFiles();
  try {
    const source = await files.open(path);
    return await onDisk(path, () => source.read(0, source.size));
  } finally {
    await files.close();
  }
}

/** The SHA-256 of a file, which is not kept in memory. */
async function sha256OfFile(path: string): Promise<string> {
  const hash = builtin(OWNER, "node:crypto").createHash("sha256");
  const files = new OpenFiles();
  try {
    const source = await files.open(path);
    for (let at = 0; at < source.size; at += PIECE) {
      hash.update(await onDisk(path, () => source.read(at, Math.min(PIECE, source.size - at))));
    }
    return hash.digest("hex");
  } finally {
    await files.close();
  }
}

/** Reads a checkpoint directory's manifest. One that is missing, damaged or of a newer version is an error. */
export async function manifestOf(dir: string): Promise<SavedCheckpoint> {
  const path = nodePath().join(dir, MANIFEST);
  const entry = await entryAt(dir);
  if (entry.kind === "directory" && !entry.names.includes(MANIFEST)) throw damaged(path, "it is missing");
  const file = await entryAt(path);
  if (file.kind !== "file") throw damaged(path, "it is not a plain file");
  if (file.bytes > LARGEST_MANIFEST) throw damaged(path, `it has ${file.bytes} bytes, too many for a manifest`);
  const text = parseManifest(new TextDecoder().decode(await bytesOf(path)));
  if (text.kind === "newer") throw newerVersion(dir, text.schema);
  if (text.kind === "bad") throw damaged(path, text.reason);
  if ((await digestOf(text.body)) !== text.digest) throw damaged(path, "its digest does not fit its contents");
  return { ...text.manifest, dir };
}

/** Verifies a file that is part of a checkpoint. Files without a manifest beside them are not checked. */
export async function verifyInCheckpoint(path: string): Promise<void> {
  const { basename, dirname } = nodePath();
  const dir = dirname(path);
  const entry = await entryAt(dir);
  if (entry.kind !== "directory" || !entry.names.includes(MANIFEST)) return;
  const manifest = await manifestOf(dir).catch((error: unknown) => {
    // Other software has manifest.json too: without a run's state this is no checkpoint.
    if (entry.names.includes("state.json")) throw error;
  });
  const expected = manifest?.files[basename(path)];
  if (expected) await verifyFile(path, expected, true);
}

/** Throws unless a file's size, and its digest if wanted, are those in the manifest. */
export async function verifyFile(path: string, { bytes, sha256 }: FileEntry, digests: boolean): Promise<void> {
  const file = await entryAt(path).catch((error: unknown) => {
    throw error instanceof CheckpointError && error.reason === "it does not exist"
      ? damaged(path, "it is missing")
      : error;
  });
  if (file.kind !== "file") throw damaged(path, "it is not a plain file");
  if (file.bytes !== bytes) throw damaged(path, `it has ${file.bytes} bytes instead of ${bytes}`);
  if (digests && (await sha256OfFile(path)) !== sha256) throw damaged(path, "its SHA-256 is not the manifest's");
}
