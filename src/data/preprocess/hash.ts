// MurmurHash3 (x86, 32 bits) of a text's UTF-8 bytes. scikit-learn's hashing uses the same, so features agree with its.

const encoder = new TextEncoder();
let bytes = new Uint8Array(256);

const rotate = (word: number, by: number): number => (word << by) | (word >>> (32 - by));
const mixed = (word: number): number => Math.imul(rotate(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);

/** A signed 32-bit number. */
export function murmur3(text: string, seed = 0): number {
  if (bytes.length < text.length * 3) bytes = new Uint8Array(text.length * 3);
  const length = encoder.encodeInto(text, bytes).written;
  let hash = seed;
  const whole = length & ~3;
  for (let i = 0; i < whole; i += 4) {
    const word = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    hash = (Math.imul(rotate(hash ^ mixed(word), 13), 5) + 0xe6546b64) | 0;
  }
  if (length > whole) {
    let word = 0;
    for (let i = length - 1; i >= whole; i--) word = (word << 8) | bytes[i]!;
    hash ^= mixed(word);
  }
  hash ^= length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** The feature that a text is hashed to. */
export const bucketOf = (hash: number, size: number): number => Math.abs(hash) % size;

/** Half of the texts count negative, so that those of one feature cancel out in the mean instead of adding up. */
export const signOf = (hash: number): number => (hash >= 0 ? 1 : -1);

/** 64 bits of a text as hexadecimal digits: to notice a change, not to prevent one. */
export const fingerprintOf = (text: string): string =>
  [0, 0x9747b28c].map((seed) => (murmur3(text, seed) >>> 0).toString(16).padStart(8, "0")).join("");
