// The checksum of record files: CRC-32 with Castagnoli's polynomial, which Node's own crc32 does not know.

/** Eight tables of 256: eight bytes are folded in at a time. Signed, as JavaScript's bit operations give them. */
const TABLES = Array.from({ length: 8 }, () => new Int32Array(256));
for (let n = 0; n < 256; n++) {
  let word = n;
  for (let bit = 0; bit < 8; bit++) word = word & 1 ? 0x82f63b78 ^ (word >>> 1) : word >>> 1;
  TABLES[0]![n] = word;
}
for (let n = 0; n < 256; n++) {
  for (let k = 1; k < 8; k++) {
    const before = TABLES[k - 1]![n]!;
    TABLES[k]![n] = TABLES[0]![before & 0xff]! ^ (before >>> 8);
  }
}
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
];

/** Of the bytes from `start` to `end`; a range, so that records are checked where they lie. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let crc = -1;
  let i = start;
  for (const last = end - 7; i < last; i += 8) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    crc =
      T7[crc & 0xff]! ^
      T6[(crc >>> 8) & 0xff]! ^
      T5[(crc >>> 16) & 0xff]! ^
      T4[crc >>> 24]! ^
      T3[bytes[i + 4]!]! ^
      T2[bytes[i + 5]!]! ^
      T1[bytes[i + 6]!]! ^
      T0[bytes[i + 7]!]!;
  }
  for (; i < end; i++) crc = T0[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** As record files hold it: turned and shifted, so that a checksum of bytes that hold checksums is still a good one. */
export function maskedCrc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const crc = crc32c(bytes, start, end);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
