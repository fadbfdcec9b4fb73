// Files on a disk, for the tools that look at other people's: only read, never followed by surprise, errors with the way out.
import { CheckpointError, HooklineError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { builtin } from "../platform/builtin.ts";
import { codeOf } from "../platform/error-code.ts";
import type { ByteSource } from "./formats/safetensors-file.ts";
import { problem } from "../platform/file-errors.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;
type Handle = Awaited<ReturnType<Fs["open"]>>;
type Path = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Crypto = ReturnType<typeof process.getBuiltinModule<"node:crypto">>;

const OWNER = "Reading checkpoints from a path";
/** How much of a file is in memory while its digest is computed. */
const PIECE = 4 << 20;

const nodeFiles = (): Fs => builtin<Fs>(OWNER, "node:fs/promises");
export const nodePath = (): Path => builtin<Path>(OWNER, "node:path");

/** What is at a path: the size of a file, or the sorted names in a directory. */
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

/** What is there; a path that leads nowhere is an error that knows the nearest name. */
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

/** Opens files to read parts of them, and closes them all. */
export class OpenFiles {
  readonly #handles: Handle[] = [];

  async open(path: string): Promise<ByteSource> {
    return onDisk(path, async () => {
      const fs = nodeFiles();
      const { O_RDONLY, O_NONBLOCK } = fs.constants;
      // Opening a device may have effects, so it is looked at first; opening a pipe must not wait for a writer.
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
    const { bytesRead } = await handle.read(bytes, done, Math.min(length - done, 1 << 30), offset + done);
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
export async function sha256OfFile(path: string): Promise<string> {
  const hash = builtin<Crypto>(OWNER, "node:crypto").createHash("sha256");
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
