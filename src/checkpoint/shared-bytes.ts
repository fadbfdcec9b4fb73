// Memory that the writing thread sees too: bytes in it are saved without a copy, and it can be used again for the next save.
import { currentPlatform } from "../platform/platform.ts";
import { lengthOf, partsOf, type FileBytes } from "./parts.ts";

/** How much is copied before events get their turn: about 3 ms, where fresh memory is slow. */
const SLICE = 4 << 20;

/** Zeroed bytes that `save` does not have to copy, where the platform has shared memory. */
export function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(
    typeof SharedArrayBuffer === "undefined" ? new ArrayBuffer(length) : new SharedArrayBuffer(length),
  );
}

const isShared = ({ buffer }: Uint8Array): boolean => buffer instanceof SharedArrayBuffer;

/** The same parts in shared memory; those that are not there already are copied, all into one piece of it. */
export async function toShared(file: FileBytes): Promise<readonly Uint8Array[]> {
  const parts = partsOf(file);
  if (typeof SharedArrayBuffer === "undefined" || parts.every(isShared)) return parts;
  const room = sharedBytes(lengthOf(parts.filter((part) => !isShared(part))));
  let used = 0;
  const copies: Uint8Array[] = [];
  for (const part of parts) {
    if (isShared(part)) {
      copies.push(part);
      continue;
    }
    const copy = room.subarray(used, used + part.byteLength);
    await copyInTurns(part, copy, used);
    copies.push(copy);
    used += part.byteLength;
  }
  return copies;
}

/** Lets events have their turn whenever `done` bytes, those of the parts before included, fill another slice. */
async function copyInTurns(from: Uint8Array, to: Uint8Array, done: number): Promise<void> {
  const { yieldToEvents } = currentPlatform();
  for (let start = 0; start < from.byteLength;) {
    const filled = (done + start) % SLICE;
    if (filled === 0 && done + start > 0) await yieldToEvents();
    const end = Math.min(from.byteLength, start + SLICE - filled);
    to.set(from.subarray(start, end), start);
    start = end;
  }
}
