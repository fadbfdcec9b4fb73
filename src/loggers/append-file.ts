// A file that lines are appended to: buffered, written in the background, in order, never torn but at its end, and whole
// again when it is opened after a crash.
import { HooklineError } from "../core/errors.ts";
import type { Fence } from "../runs/fence.ts";
import { LinesFromEnd, nodeFs, type Fs } from "../runs/files.ts";
import { guardedLog, logProblem } from "../platform/file-errors.ts";
import type { LastRecord } from "../runs/types.ts";

/** Buffered text is handed over in pieces of this many characters. */
const PIECE = 64 * 1024;
/** What may wait for a disk. When it is full, what comes on top is lost, counted and reported. */
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
  /** How much must have been written. */
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
  /** Where the next byte goes. Writes say where: then one can be repeated without harm. */
  #position: number;
  #text = "";
  /** The piece that is being written: all of it is at hand until all of it is on the disk. */
  #piece: Uint8Array | undefined;
  #done = 0;
  /** Characters that were appended, and those of them that are in a piece or written. */
  #appended = 0;
  #taken = 0;
  #isWriting = false;
  /** Counts synchronous flushes: a write from before one has nothing left to say. */
  #turn = 0;
  /** Why the last write failed: from then on only a flush tries again. */
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

  /** Opens the file, or makes it. A torn last line, which a kill may leave, is cut off. */
  static open(owner: string, path: string, options: OpenOptions = {}): AppendFile {
    const { fs = nodeFs(owner), fence } = options;
    return guardedLog(path, () => {
      fence?.check();
      // A link may lead anywhere, and opening a pipe would wait for ever. Windows has neither flag: they count as 0.
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

  /** Bytes that are written. */
  get size(): number {
    return this.#position;
  }

  /** Takes whole lines, each with its newline. Costs next to nothing; nothing is written before there is a piece of it. */
  append(text: string): void {
    if (this.#text.length > this.#mostWaiting && !this.#makeRoom()) {
      this.#lost++;
      return;
    }
    this.#text += text;
    this.#appended += text.length;
    if (this.#text.length > PIECE && !this.#isWriting && !this.#failure) this.#write();
  }

  /** A disk that is slow is waited for; one that fails is not asked again before the next flush. */
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

  /** Resolves when all that was appended is with the system. After a failure it tries again. */
  flush(): Promise<void> {
    this.#failure = undefined;
    const until = this.#appended;
    if (this.#piece === undefined && this.#text === "") return this.#reportLost();
    const written = new Promise<void>((resolve, reject) => this.#waiters.push({ until, resolve, reject }));
    if (!this.#isWriting) this.#write();
    return written.then(() => this.#reportLost());
  }

  /** The same before it returns: for the end of the process, when no callback will come any more. */
  flushSync(): void {
    this.#failure = undefined;
    // What a write on its way would tell comes too late. It puts the same bytes in the same place, so it may go on.
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
   * Removes all lines after a record, before anything is appended. `stepOf` is asked for the step of each line, from the
   * last one on: -Infinity is a header, undefined is no record. It is one system call, so a kill leaves the file as it
   * was or as it should be.
   */
  truncateAfter({ step, count }: LastRecord, stepOf: (line: string) => number | undefined): void {
    guardedLog(this.path, () => {
      const lines = new LinesFromEnd(this.#fs, this.#fd, this.#position);
      /** Where the records of this very step end, the last one first. */
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
      // Its number may be another file's soon: a write on its way must not find that one.
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

  /** A write may be a short one: then the rest of the piece comes next. */
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

/** What has something to write when the process ends. */
interface Buffered {
  flushSync(): void;
}
const buffered = new Set<Buffered>();

/** `process.exit()` and uncaught errors end a run without its end: what is buffered is written then. */
function flushAll(): void {
  for (const each of buffered) {
    try {
      each.flushSync();
    } catch {
      // There is nobody left to tell.
    }
  }
}

/** One listener for all, and none when there is nothing to listen for. Returns what takes it back. */
export function flushAtExit(each: Buffered): () => void {
  const { process } = globalThis as { process?: Pick<NodeJS.Process, "on" | "off"> };
  if (buffered.size === 0) process?.on("exit", flushAll);
  buffered.add(each);
  return () => {
    buffered.delete(each);
    if (buffered.size === 0) process?.off("exit", flushAll);
  };
}
