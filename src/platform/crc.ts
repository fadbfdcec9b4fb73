// Cyclic checksums of 32 bits: that of zip files and PNGs, and others by their polynomial.
import { builtinOrNone } from "./builtin.ts";

/** The checksum of the bytes from `start` to `end`; a range, so that records are checked without copying them. */
type Crc = (bytes: Uint8Array, start?: number, end?: number) => number;

/** For a polynomial with its bits reversed. */
export function crcOf(polynomial: number): Crc {
  // Eight tables of 256: eight bytes are folded in at a time. Signed, as JavaScript's bit operations give them.
  const tables = Array.from({ length: 8 }, () => new Int32Array(256));
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [Int32Array, ...Int32Array[]];
  for (let n = 0; n < 256; n++) {
    let word = n;
    for (let bit = 0; bit < 8; bit++) word = word & 1 ? polynomial ^ (word >>> 1) : word >>> 1;
    t0[n] = word;
  }
  for (let n = 0; n < 256; n++) {
    for (let k = 1; k < 8; k++) {
      const before = tables[k - 1]![n]!;
      tables[k]![n] = t0[before & 0xff]! ^ (before >>> 8);
    }
  }
  return (bytes, start = 0, end = bytes.length) => {
    let crc = -1;
    let i = start;
    for (const last = end - 7; i < last; i += 8) {
      crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
      crc =
        t7![crc & 0xff]! ^
        t6![(crc >>> 8) & 0xff]! ^
        t5![(crc >>> 16) & 0xff]! ^
        t4![crc >>> 24]! ^
        t3![bytes[i + 4]!]! ^
        t2![bytes[i + 5]!]! ^
        t1![bytes[i + 6]!]! ^
        t0[bytes[i + 7]!]!;
    }
    for (; i < end; i++) crc = t0[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
    return ~crc >>> 0;
  };
}

/** The checksum of zip files and PNGs in plain JavaScript, for browsers. */
export const crc32Portable = crcOf(0xedb88320);

/** The same; Node has it in machine code from 20.15 and 22.2 on, several times as fast. */
export const crc32: (bytes: Uint8Array) => number = builtinOrNone("node:zlib")?.crc32 ?? crc32Portable;
