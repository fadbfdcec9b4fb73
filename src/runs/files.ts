// Files of a run directory: replaced as a whole, kept under another name, and read from their end.
import { OptionError } from "../core/errors.ts";
import { type Builtin, builtin } from "../platform/builtin.ts";
import { codeOf, guardedLog } from "../platform/file-errors.ts";

export type Fs = Builtin<"node:fs">;

export const nodeFs = (owner: string): Fs => builtin(owner, "node:fs");

const WINDOW = 64 * 1024;
const NEWLINE = 10;

/** Reads `[start, end)` of a file; less where the file is shorter. */
export function readRange(fs: Pick<Fs, "readSync">, fd: number, start: number, end: number): Uint8Array {
  const bytes = new Uint8Array(end - start);
  let done = 0;
  for (let got = -1; done < bytes.length && got !== 0; done += got)
    got = fs.readSync(fd, bytes, done, bytes.length - done, start + done);
  return bytes.subarray(0, done);
}

/** The lines of a file from its end, read in growing windows. */
export class LinesFromEnd {
  readonly #fs: Pick<Fs, "readSync">;
  readonly #fd: number;
  #start: number;
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(fs: Pick<Fs, "readSync">, fd: number, size: number) {
    this.#fs = fs;
    this.#fd = fd;
    this.#start = size;
  }

  /** Where the line begins whose newline, if it has one, is the byte before `end`. */
  startOf(end: number): number {
    for (;;) {
      // The byte before `end` may be this line's own newline.
      const found = this.#bytes.lastIndexOf(NEWLINE, end - 2 - this.#start);
      if (end - 2 >= this.#start && found >= 0) return this.#start + found + 1;
      if (this.#start === 0) return 0;
      // Twice as much each time, so that a long line is not read again and again.
      const start = Math.max(0, this.#start - Math.max(WINDOW, 2 * (end - this.#start)));
      this.#bytes = readRange(this.#fs, this.#fd, start, end);
      this.#start = start;
    }
  }

  /** Only for ranges that `startOf` has reached. */
  text(start: number, end: number): string {
    return new TextDecoder().decode(this.#bytes.subarray(start - this.#start, end - this.#start));
  }

  endsInNewline(end: number): boolean {
    this.startOf(end);
    return this.#bytes[end - 1 - this.#start] === NEWLINE;
  }
}

/** Opens a file for reading. Not links, which may lead anywhere, and not pipes, whose opening would block. */
function openPlain(fs: Fs, path: string): number {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  return fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/** The first line. `isWhole` is false if the file ends before it does, or if it is longer than a header can be. */
export function firstLine(fs: Fs, path: string): { readonly text: string; readonly isWhole: boolean } {
  if (!isFile(fs, path)) return { text: "", isWhole: false };
  return guardedLog(path, () => {
    const fd = openPlain(fs, path);
    try {
      const bytes = readRange(fs, fd, 0, WINDOW);
      const end = bytes.indexOf(NEWLINE);
      return { text: new TextDecoder().decode(bytes.subarray(0, end < 0 ? undefined : end)), isWhole: end >= 0 };
    } finally {
      fs.closeSync(fd);
    }
  });
}

const CHUNK = 1024 * 1024;

/** The content of a file from `start` on. Each chunk is valid until the next one is requested. */
export function* chunksOf(fs: Fs, path: string, start: number): Generator<Uint8Array> {
  const fd = openPlain(fs, path);
  try {
    const chunk = new Uint8Array(CHUNK);
    for (let at = start; ;) {
      const got = fs.readSync(fd, chunk, 0, CHUNK, at);
      if (got === 0) return;
      yield chunk.subarray(0, got);
      at += got;
    }
  } finally {
    fs.closeSync(fd);
  }
}

/** `metrics.jsonl` → `metrics.1.jsonl`, or the first number that is free. */
function freeName(fs: Fs, path: string): string {
  const dot = path.lastIndexOf(".");
  for (let n = 1; ; n++) {
    const name = `${path.slice(0, dot)}.${n}${path.slice(dot)}`;
    try {
      fs.lstatSync(name);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return name;
      throw error;
    }
  }
}

function isFile(fs: Fs, path: string): boolean {
  try {
    return fs.lstatSync(path).isFile();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Renames the file of another run: a new run must not delete the numbers of an old one. */
export function setAside(fs: Fs, path: string): void {
  guardedLog(path, () => {
    if (isFile(fs, path) && fs.lstatSync(path).size > 0) fs.renameSync(path, freeName(fs, path));
  });
}

/** Renames a directory to the first free `<dir>.1`, `<dir>.2`, …; returns its new path, written as `dir` is. */
export function moveDirectoryAside(dir: string): string {
  const fs = nodeFs("A run directory");
  const full = builtin("A run directory", "node:path").resolve(dir);
  let n = 1;
  while (fs.existsSync(`${full}.${n}`)) n++;
  fs.renameSync(full, `${full}.${n}`);
  return `${dir.replace(/\/+$/, "")}.${n}`;
}

/** Gives the file a second name, so that it is kept when its first one is replaced. */
export function keepUnderOtherName(fs: Fs, path: string): void {
  guardedLog(path, () => {
    const name = freeName(fs, path);
    try {
      fs.linkSync(path, name);
    } catch {
      // Not every file system has hard links.
      fs.copyFileSync(path, name, fs.constants.COPYFILE_EXCL);
    }
  });
}

/**
 * Replaces a file as a whole: a reader, or a start after a crash, finds the old content or the new. The temporary name is
 * always the same, so that crashes do not leave many files behind.
 */
export function replaceFile(fs: Fs, path: string, write: (put: (bytes: Uint8Array) => void) => void): void {
  guardedLog(path, () => {
    const beside = `${path}.tmp`;
    fs.rmSync(beside, { force: true });
    try {
      const fd = fs.openSync(beside, "wx");
      try {
        write((bytes) => {
          for (let done = 0; done < bytes.length;) done += fs.writeSync(fd, bytes, done, bytes.length - done);
        });
        // Without it the name may reach the disk before the content, and a power failure leaves an empty file.
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
      fs.renameSync(beside, path);
    } catch (error) {
      fs.rmSync(beside, { force: true });
      throw error;
    }
  });
}

/** The directory that a backend writes to. */
export function directoryOf(owner: string, dir: string | undefined): string {
  if (dir !== undefined) return dir;
  throw new OptionError(`${owner}: there is no directory to write to. Give the trainer \`runDir: "runs/digits"\`.`);
}

export function makeDirectory(fs: Fs, dir: string): void {
  guardedLog(dir, () => void fs.mkdirSync(dir, { recursive: true }));
}
