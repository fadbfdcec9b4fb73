// The checksum of record files: CRC-32 with Castagnoli's polynomial, which Node's own crc32 does not know.
import { crcOf } from "../../platform/crc.ts";

export const crc32c = crcOf(0x82f63b78);

/** As record files hold it: turned and shifted, so that a checksum of bytes that hold checksums is still a good one. */
export function maskedCrc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const crc = crc32c(bytes, start, end);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
