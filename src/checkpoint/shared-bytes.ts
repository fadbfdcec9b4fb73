// Memory that the writing thread sees too: bytes in it are saved without a copy, and it can be used again for the next save.
import { currentPlatform } from "../platform/platform.ts";

/** How much is copied before events get their turn: about 3 ms, where fresh memory is slow. */
const SLICE = 4 << 20;

/** Zeroed bytes that `save` does not have to copy, where the platform has shared memory. */
export function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(
    typeof SharedArrayBuffer === "undefined" ? new ArrayBuffer(length) : new SharedArrayBuffer(length),
  );
}

/** The same bytes in shared memory; they are copied unless they are there already. */
export async function toShared(bytes: Uint8Array): Promise<Uint8Array> {
  if (typeof SharedArrayBuffer === "undefined" || bytes.buffer instanceof SharedArrayBuffer) return bytes;
  const shared = sharedBytes(bytes.byteLength);
  const { yieldToEvents } = currentPlatform();
  for (let start = 0; start < bytes.byteLength; start += SLICE) {
    if (start > 0) await yieldToEvents();
    shared.set(bytes.subarray(start, start + SLICE), start);
  }
  return shared;
}
