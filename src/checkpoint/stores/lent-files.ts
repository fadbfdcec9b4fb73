// Writes files from memory that others go on using: the system reads it where it lies, in a thread of its own.
import { builtin } from "../../platform/builtin.ts";
import { problem } from "../../platform/file-errors.ts";
import type { LentFiles } from "../store.ts";

type Parts = readonly Uint8Array[];

interface LentFs {
  openSync(path: string, flags: "wx"): number;
  closeSync(fd: number): void;
  writev(fd: number, parts: Parts, at: number, done: (error: Error | null, written: number) => void): void;
  writevSync(fd: number, parts: Parts, at: number): number;
}

/** Memory that grows does so in a save's first steps. Should it go on, the caller waits for the disk instead. */
const MOVES = 3;

/**
 * Writes each into `dir` and calls `then` with their sizes. One after the other: two threads that write would take the
 * second processor of two, and training would wait for its own. The files stay open until it is done: as long as they
 * are, the system does not forget that writing them back failed, and tells whoever syncs them.
 */
export async function withLentFiles<T>(
  dir: string,
  lent: LentFiles,
  then: (sizes: Record<string, number>) => Promise<T>,
): Promise<T> {
  const fs = builtin<LentFs>("The checkpoint directory", "node:fs");
  const open: number[] = [];
  const sizes: Record<string, number> = {};
  try {
    for (const [file, parts] of Object.entries(lent)) {
      try {
        const fd = fs.openSync(`${dir}/${file}`, "wx");
        open.push(fd);
        sizes[file] = await writeLent(fs, fd, parts);
      } catch (error) {
        throw problem(`${dir}/${file}`, error);
      }
    }
    return await then(sizes);
  } finally {
    for (const fd of open) fs.closeSync(fd);
  }
}

/** How many bytes it wrote: all of them. */
async function writeLent(fs: LentFs, fd: number, parts: () => Parts): Promise<number> {
  let done = 0;
  for (let moves = 0; ;) {
    const rest = from(parts(), done);
    if (rest.length === 0) return done;
    if (moves === MOVES) {
      done += fs.writevSync(fd, rest, done);
      continue;
    }
    const { error, written } = await new Promise<{ error: Error | null; written: number }>((resolve) => {
      fs.writev(fd, rest, done, (error, written) => resolve({ error, written }));
    });
    // What was read after the move, if it could be read at all, may be anything: it is written again.
    if (rest.some((part) => part.byteLength === 0)) moves++;
    else if (error) throw error;
    else done += written;
  }
}

/** The parts without their first `start` bytes, and without empty ones. */
function from(parts: Parts, start: number): Parts {
  const rest: Uint8Array[] = [];
  let at = 0;
  for (const part of parts) {
    const cut = Math.max(0, start - at);
    at += part.byteLength;
    if (cut < part.byteLength) rest.push(part.subarray(cut));
  }
  return rest;
}
