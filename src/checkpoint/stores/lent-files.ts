// Writes files from memory that stays in use, without a copy: the system reads it in place, in a thread of its own.
import { builtin, type Builtin } from "../../platform/builtin.ts";
import { problem } from "../../platform/file-errors.ts";
import type { LentFiles } from "../store.ts";

type Parts = readonly Uint8Array[];

/** Memory usually grows in the first steps of a save. If it moves more often than this, the caller waits for the disk. */
const MOVES = 3;

/**
 * Writes each file into `dir`, then calls `then` with their sizes. One at a time: two writing threads would compete with
 * training for two processors. The files stay open until `then` is done: while they are, a later sync still reports a
 * failed write-back.
 */
export async function withLentFiles<T>(
  dir: string,
  lent: LentFiles,
  then: (sizes: Record<string, number>) => Promise<T>,
): Promise<T> {
  const fs = builtin("The checkpoint directory", "node:fs");
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

/** Returns the number of bytes written. */
async function writeLent(fs: Builtin<"node:fs">, fd: number, parts: () => Parts): Promise<number> {
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
    // The memory moved: what was written may be anything, so it is written again.
    if (rest.some((part) => part.byteLength === 0)) moves++;
    else if (error) throw error;
    else done += written;
  }
}

/** The chunks from byte `start` on, without empty ones. */
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
