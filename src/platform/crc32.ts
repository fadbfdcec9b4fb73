// The checksum of zip files and PNGs.
import { builtinOrNone } from "./builtin.ts";

/** Eight tables of 256: eight bytes are folded in at a time. */
const TABLES = Array.from({ length: 8 }, () => new Uint32Array(256));
for (let n = 0; n < 256; n++) {
  let word = n;
  for (let bit = 0; bit < 8; bit++) word = word & 1 ? 0xedb88320 ^ (word >>> 1) : word >>> 1;
  TABLES[0]![n] = word;
}
for (let n = 0; n < 256; n++) {
  for (let k = 1; k < 8; k++) {
    const before = TABLES[k - 1]![n]!;
    TABLES[k]![n] = TABLES[0]![before & 0xff]! ^ (before >>> 8);
  }
}

/** In plain JavaScript, for browsers. */
export function crc32Portable(bytes: Uint8Array): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as [Uint32Array, Uint32Array, ...Uint32Array[]];
  let crc = -1;
  let i = 0;
  for (const end = bytes.length - 7; i < end; i += 8) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    crc =
      t7![crc & 0xff]! ^
      t6![(crc >>> 8) & 0xff]! ^
      t5![(crc >>> 16) & 0xff]! ^
      t4![crc >>> 24]! ^
      t3![bytes[i + 4]!]! ^
      t2![bytes[i + 5]!]! ^
      t1[bytes[i + 6]!]! ^
      t0[bytes[i + 7]!]!;
  }
  for (; i < bytes.length; i++) crc = t0[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

interface Zlib {
  /** From Node 20.15 and 22.2 on. */
  crc32?(bytes: Uint8Array): number;
}

/** Node has it in machine code, several times as fast. */
export const crc32: (bytes: Uint8Array) => number = builtinOrNone<Zlib>("node:zlib")?.crc32 ?? crc32Portable;
