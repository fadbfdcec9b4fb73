// The whole lines of a file that may still be growing: read in bounded memory, and each of them once.
import { type Builtin, builtin } from "../platform/builtin.ts";
import { codeOf, logProblem } from "../platform/file-errors.ts";
import type { RunEvent } from "./types.ts";

type FsPromises = Builtin<"node:fs/promises">;
type FileHandle = Awaited<ReturnType<FsPromises["open"]>>;

const OWNER = "Reading a run";
const CHUNK = 1024 * 1024;
/** A longer line is not one of ours: it is skipped, not kept in memory. */
const LONGEST_LINE = 16 * 1024 * 1024;
const NEWLINE = 10;
/** How many of the last bytes read are compared, to tell whether the file is still the same. */
const COMPARED = 256;

export interface LineVisitor {
  /**
   * The bytes of a line without its newline, which follows them; valid during the call.
   * @param at where the line begins in the file
   */
  line(bytes: Buffer, from: number, to: number, at: number): void;
  tooLong(): void;
  /** The file was cut or replaced: what was visited before is not in it. All of its lines follow. */
  restart(): void;
}

/** Reads a growing file from where the last reading ended. */
export class FileFollower {
  readonly #path: string;
  readonly #visitor: LineVisitor;
  /** The end of the last whole line that was read, and the bytes before it. */
  #offset = 0;
  #last: Uint8Array = new Uint8Array(0);

  constructor(path: string, visitor: LineVisitor) {
    this.#path = path;
    this.#visitor = visitor;
  }

  /** Visits the lines that are new. False when there is no such file. */
  async read(): Promise<boolean> {
    let file: FileHandle;
    try {
      file = await builtin(OWNER, "node:fs/promises").open(this.#path, "r");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw logProblem(this.#path, error);
      this.#restart();
      return false;
    }
    try {
      if (!(await this.#isSame(file))) this.#restart();
      this.#offset = await readLines(file, this.#offset, this.#visitor);
      const length = Math.min(this.#offset, COMPARED);
      this.#last = await this.#bytesBefore(file, length);
      return true;
    } catch (error) {
      throw logProblem(this.#path, error);
    } finally {
      await file.close();
    }
  }

  #restart(): void {
    if (this.#offset > 0) this.#visitor.restart();
    this.#offset = 0;
    this.#last = new Uint8Array(0);
  }

  /** A resumed run cuts the file back to its checkpoint, and a new run has a new file. */
  async #isSame(file: FileHandle): Promise<boolean> {
    const now = await this.#bytesBefore(file, this.#last.length);
    return now.length === this.#last.length && now.every((byte, i) => byte === this.#last[i]);
  }

  async #bytesBefore(file: FileHandle, length: number): Promise<Uint8Array> {
    const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, this.#offset - length);
    return buffer.subarray(0, bytesRead);
  }
}

/** Visits the lines from `start` on; resolves to the end of the last whole one. A torn line is left for later. */
async function readLines(file: FileHandle, start: number, visitor: LineVisitor): Promise<number> {
  let bytes = newBuffer(CHUNK);
  /** Where the current line begins in the file, and how many of its bytes are at the beginning of the buffer. */
  let begin = start;
  let kept = 0;
  /** How much of a line that is too long has been dropped. */
  let dropped = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, kept, bytes.length - kept, begin + dropped + kept);
    if (bytesRead === 0) return begin;
    const filled = kept + bytesRead;
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE, kept); end >= 0 && end < filled; end = bytes.indexOf(NEWLINE, from)) {
      if (dropped > 0) visitor.tooLong();
      else visitor.line(bytes, from, end, begin);
      begin += dropped + end + 1 - from;
      dropped = 0;
      from = end + 1;
    }
    kept = filled - from;
    bytes.copy(bytes, 0, from, filled);
    if (dropped > 0 || kept >= LONGEST_LINE) [dropped, kept] = [dropped + kept, 0];
    else if (kept === bytes.length) bytes = largerBuffer(bytes);
  }
}

function newBuffer(length: number): Buffer {
  return builtin(OWNER, "node:buffer").Buffer.allocUnsafe(length);
}

function largerBuffer(bytes: Buffer): Buffer {
  const larger = newBuffer(2 * bytes.length);
  bytes.copy(larger);
  return larger;
}

/** The JSON object in a line; undefined when it is something else. */
export function parseLine(bytes: Buffer, from: number, to: number): Record<string, unknown> | undefined {
  try {
    const parsed = JSON.parse(bytes.toString("utf8", from, to)) as unknown;
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Collects the events of a file in `events`. */
export const eventVisitor = (events: RunEvent[]): LineVisitor => ({
  line: (bytes, from, to) => {
    const parsed = parseLine(bytes, from, to);
    if (typeof parsed?.["type"] === "string") events.push(parsed as unknown as RunEvent);
  },
  tooLong: () => undefined,
  restart: () => void events.splice(0),
});
