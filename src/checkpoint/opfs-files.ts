// Reading and writing files of the browser's own file system, checked: over quota, some calls report bytes they did not write.
import { CheckpointError } from "../core/errors.ts";
import { codeOf } from "../platform/error-code.ts";
import { problem } from "../platform/file-errors.ts";

interface SyncAccess {
  write(bytes: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
}

/** Only workers have it; it is the one way to have bytes flushed. */
type WithSyncAccess = FileSystemFileHandle & { createSyncAccessHandle?(): Promise<SyncAccess> };

/** Writes a new file and checks its size; `path` is for messages. */
export async function writeFile(
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
      // What is missing shows in the size of the file.
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

/** The contents of a file, or undefined where there is none. */
export async function readFile(
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

/** The size of a file without reading it, or undefined where there is none. */
export async function fileSize(dir: FileSystemDirectoryHandle, name: string): Promise<number | undefined> {
  try {
    return (await (await dir.getFileHandle(name)).getFile()).size;
  } catch (error) {
    if (codeOf(error) === "NotFoundError") return undefined;
    throw problem(name, error);
  }
}

/** Removes a file or directory; one that is gone already is no error. */
export async function removeEntry(dir: FileSystemDirectoryHandle, name: string, recursive = false): Promise<void> {
  try {
    await dir.removeEntry(name, { recursive });
  } catch (error) {
    if (codeOf(error) !== "NotFoundError") throw problem(name, error);
  }
}
