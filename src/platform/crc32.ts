// The checksum of zip files and PNGs.
import { builtinOrNone } from "./builtin.ts";
import { crcOf } from "./crc.ts";

/** In plain JavaScript, for browsers. */
export const crc32Portable = crcOf(0xedb88320);

interface Zlib {
  /** From Node 20.15 and 22.2 on. */
  crc32?(bytes: Uint8Array): number;
}

/** Node has it in machine code, several times as fast. */
export const crc32: (bytes: Uint8Array) => number = builtinOrNone<Zlib>("node:zlib")?.crc32 ?? crc32Portable;
