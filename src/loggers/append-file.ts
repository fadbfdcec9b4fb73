// A file that lines are appended to: buffered, written in the background and in order. A crash can only tear its last
// line, which is removed when the file is opened again.
import { HooklineError } from "../core/errors.ts";
import type { Fence } from "../runs/fence.ts";
import { LinesFromEnd, nodeFs, type Fs } from "../runs/files.ts";
import { guardedLog, logProblem } from "../platform/file-errors.ts";
import type { LastRecord } from "../runs/types.ts";

/** Buffered text is written in pieces of this many characters. */
const PIECE = 64 * 1024;
/** Characters that may wait for the disk. Lines beyond that are lost, counted and reported. */
const MOST_WAITING = 32 * 1024 * 1024;

type FileFs = Pick<
  Fs,
  "constants" | "openSync" | "fstatSync" | "readSync" | "write" | "writeSync" | "ftruncateSync" | "closeSync"
>;

interface OpenOptions {
  readonly fs?: FileFs;
  readonly mostWaiting?: number;
  readonly fence?: Fence | undefined;
}

interface Waiter {
  /** The number of characters that must have been written. */
  readonly until: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class AppendFile {
  readonly path: string;
  readonly #fs: FileFs;
  readonly #fd: number;
  readonly #mostWaiting: number;
  /** Checked before every change of the file. */
  readonly #fence: Fence | undefined;
  /** Where the next byte goes. Writes are positioned, so that repeating one does no harm. */
  #position: number;
  #text = "";
  /** The piece that is being written, kept until all of it is on disk. */
  #piece: Uint8Array | undefined;
  #done = 0;
  /** Characters that were appended, and how many of them are in a piece or written. */
  #appended = 0;
  #taken = 0;
  #isWriting = false;
  /** Counts synchronous flushes: the result of a write that began before one is ignored. */
  #turn = 0;
  /** Why the last write failed; after that only a flush retries. */
  #failure: Error | undefined;
  #lost = 0;
  #waiters: Waiter[] = [];
  #isOpen = true;
  readonly #leave: () => void;

  private constructor(
    path: string,
    fs: FileFs,
    fd: number,
    size: number,
    { mostWaiting = MOST_WAITING, fence }: OpenOptions,
  ) {
    this.path = path;
    this.#fs = fs;
    this.#fd = fd;
    this.#position = size;
    this.#mostWaiting = mostWaiting;
    this.#fence = fence;
    this.#leave = flushAtExit(this);
  }

  /** Opens or creates the file. A torn last line, which a kill may leave, is removed. */
  static open(owner: string, path: string, options: OpenOptions = {}): AppendFile {
    const { fs = nodeFs(owner), fence } = options;
    return guardedLog(path, () => {
      fence?.check();
      // A symbolic link may lead anywhere, and opening a pipe would block. Windows has neither flag: there they are 0.
      const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
      const fd = fs.openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o666);
      try {
        const found = fs.fstatSync(fd);
        if (!found.isFile()) throw new HooklineError(`${path}: it is not a plain file. Move it away.`);
        const lines = new LinesFromEnd(fs, fd, found.size);
        const isWhole = found.size === 0 || lines.endsInNewline(found.size);
        const size = isWhole ? found.size : lines.startOf(found.size);
        if (!isWhole) fs.ftruncateSync(fd, size);
        return new AppendFile(path, fs, fd, size, options);
      } catch (error) {
        fs.closeSync(fd);
        throw error;
      }
    });
  }

  /** The number of bytes written. */
  get size(): number {
    return this.#position;
  }

  /** Adds whole lines, each with its newline. This is cheap: nothing is written until a piece is full. */
  append(text: string): void {
    if (this.#text.length > this.#mostWaiting && !this.#makeRoom()) {
      this.#lost++;
      return;
    }
    this.#text += text;
    this.#appended += text.length;
    if (this.#text.length > PIECE && !this.#isWriting && !this.#failure) this.#write();
  }

  /** Waits for a slow disk; a failing one is not tried again before the next flush. */
  #makeRoom(): boolean {
    if (this.#failure) return false;
    try {
      this.flushSync();
      return true;
    } catch (error) {
      this.#failure = error as Error;
      return false;
    }
  }

  /** Resolves when everything appended so far is written. Retries after a failure. */
  flush(): Promise<void> {
    this.#failure = undefined;
    const until = this.#appended;
    if (this.#piece === undefined && this.#text === "") return this.#reportLost();
    const written = new Promise<void>((resolve, reject) => this.#waiters.push({ until, resolve, reject }));
    if (!this.#isWriting) this.#write();
    return written.then(() => this.#reportLost());
  }

  /** Writes everything before it returns: for the end of the process, when no callback runs any more. */
  flushSync(): void {
    this.#failure = undefined;
    // A write under way puts the same bytes in the same place, so it may continue; its result is ignored.
    this.#turn++;
    guardedLog(this.path, () => {
      for (;;) {
        const piece = (this.#piece ??= this.#nextPiece());
        if (!piece) break;
        this.#fence?.check();
        this.#advance(this.#fs.writeSync(this.#fd, piece, this.#done, piece.length - this.#done, this.#position));
      }
    });
  }

  /**
   * Removes all lines after a record, before anything is appended. `stepOf` returns the step of a line, -Infinity for a
   * header and undefined for other lines; it is called from the last line on. The file is cut by one system call, so a
   * kill leaves it as it was or as it should be.
   */
  truncateAfter({ step, count }: LastRecord, stepOf: (line: string) => number | undefined): void {
    guardedLog(this.path, () => {
      const lines = new LinesFromEnd(this.#fs, this.#fd, this.#position);
      /** Where the records of exactly this step end, the last one first. */
      const ends: number[] = [];
      let end = this.#position;
      while (end > 0) {
        const start = lines.startOf(end);
        const at = stepOf(lines.text(start, end - 1));
        if (at !== undefined && at < step) break;
        if (at === step) ends.push(end);
        end = start;
      }
      const kept = Math.min(count, ends.length);
      if (kept > 0) end = ends.at(-kept)!;
      this.#fence?.check();
      if (end < this.#position) this.#fs.ftruncateSync(this.#fd, end);
      this.#position = end;
    });
  }

  /** Writes what is left. The file is closed whether or not that succeeds. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#leave();
    try {
      await this.flush();
    } finally {
      // The descriptor may soon belong to another file, which a write under way must not hit.
      while (this.#isWriting) await new Promise((resolve) => setTimeout(resolve, 1));
      guardedLog(this.path, () => this.#fs.closeSync(this.#fd));
    }
  }

  #nextPiece(): Uint8Array | undefined {
    if (this.#text === "") return undefined;
    const piece = new TextEncoder().encode(this.#text);
    this.#text = "";
    this.#taken = this.#appended;
    this.#done = 0;
    return piece;
  }

  #write(): void {
    const piece = (this.#piece ??= this.#nextPiece());
    if (!piece) return;
    try {
      this.#fence?.check();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#isWriting = true;
    const turn = this.#turn;
    this.#fs.write(this.#fd, piece, this.#done, piece.length - this.#done, this.#position, (error, count) => {
      this.#isWriting = false;
      if (turn === this.#turn) {
        if (error) return this.#fail(error);
        try {
          this.#advance(count);
        } catch (nothingWritten) {
          return this.#fail(nothingWritten);
        }
      }
      if (this.#piece || this.#waiters.length > 0 || this.#text.length > PIECE) this.#write();
    });
  }

  /** A write may be short: then the rest of the piece follows. */
  #advance(count: number): void {
    if (count === 0) throw new Error("the system writes nothing");
    this.#position += count;
    this.#done += count;
    if (this.#done < this.#piece!.length) return;
    this.#piece = undefined;
    const arrived = this.#waiters.filter(({ until }) => until <= this.#taken);
    if (arrived.length === 0) return;
    this.#waiters = this.#waiters.filter(({ until }) => until > this.#taken);
    for (const { resolve } of arrived) resolve();
  }

  #fail(error: unknown): void {
    this.#failure = logProblem(this.path, error);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(this.#failure);
  }

  #reportLost(): Promise<void> {
    const lost = this.#lost;
    this.#lost = 0;
    if (lost === 0) return Promise.resolve();
    return Promise.reject(new HooklineError(`${this.path}: ${lost} lines were lost while it could not be written.`));
  }
}

/** Something with buffered data to write when the process ends. */
interface Buffered {
  flushSync(): void;
}
const buffered = new Set<Buffered>();

/** `process.exit()` and uncaught errors end a process without closing its files: this writes what they have buffered. */
function flushAll(): void {
  for (const each of buffered) {
    try {
      each.flushSync();
    } catch {
      // Nobody is left to report to.
    }
  }
}

/** Registers for the end of the process, with one listener for all. Returns a function that unregisters. */
export function flushAtExit(each: Buffered): () => void {
  const { process } = globalThis as { process?: Pick<NodeJS.Process, "on" | "off"> };
  if (buffered.size === 0) process?.on("exit", flushAll);
  buffered.add(each);
  return () => {
    buffered.delete(each);
    if (buffered.size === 0) process?.off("exit", flushAll);
  };
}
