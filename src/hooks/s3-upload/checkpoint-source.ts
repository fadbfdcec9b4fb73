// A checkpoint's files, opened for an upload: read in pieces from a directory, or whole from another store.
import { GoneError } from "./upload-queue.ts";
import { CheckpointError } from "../../core/errors.ts";
import type { SavedCheckpoint } from "../../core/saving.ts";
import type { ContextOf } from "../../core/context.ts";
import { type Builtin, builtinOrNone } from "../../platform/builtin.ts";
import { MANIFEST, manifestText } from "../../checkpoint/manifest.ts";
import type { PartSource } from "./part-reader.ts";

type Fs = Builtin<"node:fs/promises">;
type FileHandle = Awaited<ReturnType<Fs["open"]>>;
type Checkpoints = ContextOf<"afterSave">["checkpoints"];

export interface SourceFile {
  readonly name: string;
  readonly sha256: string;
  /** Opens the file's bytes when they are needed. */
  open(): Promise<PartSource>;
}

export interface CheckpointSource {
  readonly files: readonly SourceFile[];
  readonly manifest: Uint8Array<ArrayBuffer>;
  close(): Promise<void>;
}

/**
 * Opens all files at once: an open file can be read to its end even if it is removed or replaced meanwhile. Rejects with a
 * GoneError if that has already happened.
 */
export async function openCheckpoint(saved: SavedCheckpoint, checkpoints: Checkpoints): Promise<CheckpointSource> {
  const fs = builtinOrNone("node:fs/promises");
  return saved.dir !== undefined && fs ? fromDirectory(fs, saved.dir, saved) : fromStore(saved, checkpoints);
}

async function fromDirectory(fs: Fs, dir: string, saved: SavedCheckpoint): Promise<CheckpointSource> {
  const handles: FileHandle[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(handles.map((handle) => handle.close().catch(() => undefined)));
  };
  try {
    const files: SourceFile[] = [];
    for (const [name, { bytes, sha256 }] of Object.entries(saved.files)) {
      const handle = await fs.open(`${dir}/${name}`);
      handles.push(handle);
      const source = { bytes, fd: handle.fd, read: (into: Uint8Array, at: number) => readFully(handle, into, at) };
      files.push({ name, sha256, open: async () => source });
    }
    const manifest = new Uint8Array(await fs.readFile(`${dir}/${MANIFEST}`));
    if (timeIn(manifest) !== saved.time) throw new GoneError("another has been saved under its name");
    return { files, manifest, close };
  } catch (error) {
    await close();
    if ((error as { code?: unknown }).code === "ENOENT") throw new GoneError("it has been removed");
    throw error;
  }
}

async function readFully(handle: FileHandle, into: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < into.byteLength;) {
    const { bytesRead } = await handle.read(into, at, into.byteLength - at, position + at);
    if (bytesRead === 0) throw new Error("the file is shorter than it was");
    at += bytesRead;
  }
}

function timeIn(manifest: Uint8Array): unknown {
  try {
    return (JSON.parse(new TextDecoder().decode(manifest)) as { time?: unknown }).time;
  } catch {
    return undefined;
  }
}

/** Yields to other work between pieces, as reading from a disk would. */
async function copy(whole: Uint8Array, into: Uint8Array, at: number): Promise<void> {
  if (at > 0) await new Promise((resolve) => setTimeout(resolve, 0));
  into.set(whole.subarray(at, at + into.byteLength));
}

async function fromStore(saved: SavedCheckpoint, checkpoints: Checkpoints): Promise<CheckpointSource> {
  const isThere = (): boolean =>
    checkpoints.list().some(({ name, time }) => name === saved.name && time === saved.time);
  const open = async (file: string): Promise<PartSource> => {
    if (!isThere()) throw new GoneError("it has been removed");
    try {
      const whole = await checkpoints.read(saved.name, file);
      return { bytes: whole.byteLength, read: (into, at) => copy(whole, into, at) };
    } catch (error) {
      if (error instanceof CheckpointError && !isThere()) throw new GoneError("it has been removed");
      throw error;
    }
  };
  if (!isThere()) throw new GoneError("it has been removed");
  const files = Object.entries(saved.files).map(([name, { sha256 }]) => ({ name, sha256, open: () => open(name) }));
  return { files, manifest: new TextEncoder().encode(await manifestText(saved)), close: async () => undefined };
}
