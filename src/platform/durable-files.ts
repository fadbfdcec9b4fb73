// Files that are durable when these functions return: short writes are continued, files and directories are synced.
import type { CheckpointError } from "../core/errors.ts";
import type { FileEntry } from "../core/saving.ts";
import { builtin } from "./builtin.ts";
import { codeOf, damaged, guarded, quietly } from "./file-errors.ts";

/** The part of node:fs that is used. All of it is synchronous: the order of calls is what makes a save safe, and a thread of its own runs them. */
export interface DiskFs {
  readonly constants: { readonly O_RDONLY: number; readonly O_NOFOLLOW?: number; readonly O_NONBLOCK?: number };
  openSync(path: string, flags: string | number): number;
  readSync(fd: number, bytes: Uint8Array, offset: number, length: number, position: null): number;
  writeSync(fd: number, bytes: Uint8Array, offset: number, length: number): number;
  fsyncSync(fd: number): void;
  closeSync(fd: number): void;
  renameSync(from: string, to: string): void;
  linkSync(from: string, to: string): void;
  unlinkSync(path: string): void;
  mkdirSync(path: string, options?: { recursive: true }): string | undefined;
  rmdirSync(path: string): void;
  readdirSync(path: string): string[];
  readlinkSync(path: string): string;
  lstatSync(path: string): {
    readonly size: number;
    isFile(): boolean;
    isDirectory(): boolean;
    isSymbolicLink(): boolean;
  };
  fstatSync(fd: number): { readonly size: number; isFile(): boolean };
}

interface Hash {
  update(data: Uint8Array | string): Hash;
  digest(encoding: "hex"): string;
}

export const nodeFs = (): DiskFs => builtin("The checkpoint directory", "node:fs");

const newHash = (): Hash => builtin("The checkpoint directory", "node:crypto").createHash("sha256");

export const sha256Of = (text: string): string => newHash().update(text).digest("hex");

/** Small enough that a piece is hashed while it is still in the processor's cache. */
const PIECE = 4 << 20;

function withFile<T>(fs: DiskFs, path: string, flags: string | number, use: (fd: number) => T): T {
  return guarded(path, () => {
    const fd = fs.openSync(path, flags);
    try {
      return use(fd);
    } finally {
      fs.closeSync(fd);
    }
  });
}

/** Writes a new file from these chunks. It is durable once its directory is synced too. */
export function writeDurably(fs: DiskFs, path: string, parts: readonly Uint8Array[]): FileEntry {
  return withFile(fs, path, "wx", (fd) => {
    const hash = newHash();
    let bytes = 0;
    for (const piece of piecesOf(parts)) {
      hash.update(piece);
      for (let done = 0; done < piece.byteLength;) done += fs.writeSync(fd, piece, done, piece.byteLength - done);
      bytes += piece.byteLength;
    }
    fs.fsyncSync(fd);
    return { bytes, sha256: hash.digest("hex") };
  });
}

/** Makes a file durable that was written elsewhere, and computes its digest. */
export function sealFile(fs: DiskFs, path: string, size: number): FileEntry {
  return withFile(fs, path, "r+", (fd) => {
    const found = fs.fstatSync(fd).size;
    if (found !== size) throw wrongSize(path, found, size);
    const piece = new Uint8Array(Math.min(PIECE, size));
    const sha256 = readThrough(fs, fd, path, size, newHash(), () => piece)!;
    fs.fsyncSync(fd);
    return { bytes: size, sha256 };
  });
}

function* piecesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const part of parts) {
    for (let start = 0; start < part.byteLength; start += PIECE) yield part.subarray(start, start + PIECE);
  }
}

/** Makes the names in a directory durable. */
export function syncDirectory(fs: DiskFs, path: string): void {
  guarded(path, () => {
    let fd: number;
    try {
      fd = fs.openSync(path, fs.constants.O_RDONLY);
    } catch (error) {
      // Windows cannot open directories, and needs no sync of them.
      if (codeOf(error) === "EISDIR" || codeOf(error) === "EPERM") return;
      throw error;
    }
    try {
      fs.fsyncSync(fd);
    } catch (error) {
      // Some network file systems cannot sync directories.
      if (codeOf(error) !== "EINVAL" && codeOf(error) !== "ENOTSUP") throw error;
    } finally {
      fs.closeSync(fd);
    }
  });
}

/** Makes a directory with its parents, all durable. */
export function makeDirectory(fs: DiskFs, path: string): void {
  guarded(path, () => {
    const first = makeAll(fs, path);
    if (first === undefined) return;
    const root = path.startsWith("/") ? "/" : ".";
    for (let made = path; made.length >= first.length;) {
      made = parentOf(made);
      syncDirectory(fs, made || root);
    }
  });
}

/** Returns the first directory that had to be made. */
function makeAll(fs: DiskFs, path: string): string | undefined {
  try {
    return fs.mkdirSync(path, { recursive: true });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    // Node reports ENOENT on a read-only file system too. Creating the first missing directory gives the real error.
    let missing = path;
    for (let parent = parentOf(path); parent !== "" && !exists(fs, parent); parent = parentOf(parent)) missing = parent;
    fs.mkdirSync(missing);
    return fs.mkdirSync(path, { recursive: true }) ?? missing;
  }
}

/** Empty for the root and for a bare name. */
const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/"), path.lastIndexOf("\\")));

/** Reads a file of known size and, if given, digest. Anything but a plain file with these is an error. */
export function readWhole(fs: DiskFs, path: string, size: number, sha256?: string): Uint8Array<ArrayBuffer> {
  return withPlainFile(fs, path, size, (fd) => {
    const bytes = new Uint8Array(size);
    checkThrough(fs, fd, path, { size, sha256 }, (start) => bytes.subarray(start, start + PIECE));
    return bytes;
  });
}

/** The same without keeping what was read. */
export function checkWhole(fs: DiskFs, path: string, size: number, sha256: string): void {
  withPlainFile(fs, path, size, (fd) => {
    const piece = new Uint8Array(Math.min(PIECE, size));
    checkThrough(fs, fd, path, { size, sha256 }, () => piece);
  });
}

function withPlainFile<T>(fs: DiskFs, path: string, size: number, use: (fd: number) => T): T {
  // A link may lead anywhere, and opening a pipe would wait for ever.
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;
  return withFile(fs, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, (fd) => {
    const found = fs.fstatSync(fd);
    if (!found.isFile()) throw damaged(path, "it is not a plain file");
    if (found.size !== size) throw wrongSize(path, found.size, size);
    return use(fd);
  });
}

function checkThrough(
  fs: DiskFs,
  fd: number,
  path: string,
  { size, sha256 }: { readonly size: number; readonly sha256: string | undefined },
  roomAt: (start: number) => Uint8Array,
): void {
  const hash = sha256 === undefined ? undefined : newHash();
  const found = readThrough(fs, fd, path, size, hash, roomAt);
  if (found !== sha256) throw damaged(path, "its SHA-256 is not the manifest's");
}

/** Reads `size` bytes. `roomAt` returns the memory for those from `start` on. Returns the digest, if `hash` is given. */
function readThrough(
  fs: DiskFs,
  fd: number,
  path: string,
  size: number,
  hash: Hash | undefined,
  roomAt: (start: number) => Uint8Array,
): string | undefined {
  for (let start = 0; start < size;) {
    const room = roomAt(start);
    const got = fs.readSync(fd, room, 0, Math.min(room.byteLength, size - start), null);
    if (got === 0) throw wrongSize(path, start, size);
    hash?.update(room.subarray(0, got));
    start += got;
  }
  return hash?.digest("hex");
}

export const wrongSize = (path: string, found: number, expected: number): CheckpointError =>
  damaged(path, `it has ${found} bytes instead of ${expected}`);

/** The size of a plain file, or undefined where there is none. */
export function sizeOf(fs: DiskFs, path: string): number | undefined {
  try {
    const found = fs.lstatSync(path);
    return found.isFile() ? found.size : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

export function isDirectory(fs: DiskFs, path: string): boolean {
  return exists(fs, path) && guarded(path, () => fs.lstatSync(path).isDirectory());
}

/** Where a link leads; undefined for everything else. */
export function linkAt(fs: DiskFs, path: string): string | undefined {
  return guarded(path, () => (fs.lstatSync(path).isSymbolicLink() ? fs.readlinkSync(path) : undefined));
}

export function exists(fs: DiskFs, path: string): boolean {
  return guarded(path, () => {
    try {
      fs.lstatSync(path);
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      throw error;
    }
  });
}

/** Deletes a file, or a directory with its contents. Links are deleted, not followed. */
export function deleteAll(fs: DiskFs, path: string): void {
  guarded(path, () => {
    if (!fs.lstatSync(path).isDirectory()) return fs.unlinkSync(path);
    for (const name of fs.readdirSync(path)) deleteAll(fs, `${path}/${name}`);
    fs.rmdirSync(path);
  });
}

export function deleteQuietly(fs: DiskFs, path: string): void {
  quietly(() => deleteAll(fs, path));
}
