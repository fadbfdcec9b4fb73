// The whole lines of a file that may still be growing, in bounded memory.
import { builtin } from "../platform/builtin.ts";

type FsPromises = ReturnType<typeof process.getBuiltinModule<"node:fs/promises">>;
export type FileHandle = Awaited<ReturnType<FsPromises["open"]>>;
type BufferModule = ReturnType<typeof process.getBuiltinModule<"node:buffer">>;

const CHUNK = 1024 * 1024;
/** A longer line is none of ours: it is passed over, not kept in memory. */
const LONGEST_LINE = 16 * 1024 * 1024;
const NEWLINE = 10;

export interface LineVisitor {
  /** The bytes of a line without its newline, which follows them; valid during the call. */
  line(bytes: Buffer, from: number, to: number): void;
  tooLong(): void;
}

export const openToRead = (owner: string, path: string): Promise<FileHandle> =>
  builtin<FsPromises>(owner, "node:fs/promises").open(path, "r");

/** Visits the lines from `start` on; resolves to where the last whole one ends. A torn one is left for later. */
export async function readLines(file: FileHandle, start: number, visitor: LineVisitor): Promise<number> {
  let bytes = newBuffer(CHUNK);
  /** Where the line at hand begins in the file, and how many of its bytes are at the beginning of the buffer. */
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
      else visitor.line(bytes, from, end);
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
  return builtin<BufferModule>("readRun", "node:buffer").Buffer.allocUnsafe(length);
}

function largerBuffer(bytes: Buffer): Buffer {
  const larger = newBuffer(2 * bytes.length);
  bytes.copy(larger);
  return larger;
}
