// Records as TensorFlow frames them: length, its checksum, payload, its checksum. They are assembled in one
// buffer that is reused, so that a small record allocates nothing.
import { crcOf } from "../../platform/crc.ts";

/** Before a payload: its length as uint64, and the checksum of these eight bytes. */
export const HEAD = 12;
/** After it: its checksum. */
export const TAIL = 4;

/** Where the last record begins, which must end with these bytes; undefined when it is longer, or there is none. */
export function lastRecord(bytes: Uint8Array): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isHead = (at: number): boolean =>
    view.getUint32(at, true) === bytes.length - at - HEAD - TAIL &&
    view.getUint32(at + 4, true) === 0 &&
    view.getUint32(at + 8, true) === maskedCrc32c(bytes, at, at + 8);
  for (let at = bytes.length - HEAD - TAIL; at >= 0; at--) if (isHead(at)) return at;
  return undefined;
}

/** Whole records, one after the other, and nothing else. */
export class RecordBuffer {
  #bytes: Uint8Array;
  #view: DataView;
  #size = 0;

  constructor(capacity = 4096) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** How many bytes of records are here. */
  get size(): number {
    return this.#size;
  }

  /** Where `begin`'s payload goes. Both are replaced when the buffer grows: read them after `begin`. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get view(): DataView {
    return this.#view;
  }

  /** Reserves room for a payload; returns where in `bytes` to write it. `commit` completes the record. */
  begin(length: number): number {
    const start = this.#size + HEAD;
    this.#reserve(start + length + TAIL);
    return start;
  }

  /** Frames the payload that was written. */
  commit(length: number): void {
    const start = this.#size;
    const payload = start + HEAD;
    const view = this.#view;
    view.setUint32(start, length, true);
    // The upper half: no payload has 4 GB.
    view.setUint32(start + 4, 0, true);
    view.setUint32(start + 8, maskedCrc32c(this.#bytes, start, start + 8), true);
    view.setUint32(payload + length, maskedCrc32c(this.#bytes, payload, payload + length), true);
    this.#size = payload + length + TAIL;
  }

  append(payload: Uint8Array): void {
    const start = this.begin(payload.length);
    this.#bytes.set(payload, start);
    this.commit(payload.length);
  }

  /** The records so far, as a copy; the buffer is empty afterwards. */
  take(): Uint8Array {
    const records = this.#bytes.slice(0, this.#size);
    this.#size = 0;
    return records;
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(size, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** CRC-32 with Castagnoli's polynomial, which Node does not have. */
export const crc32c = crcOf(0x82f63b78);

/** Rotated and shifted, as record files hold it: a checksum over plain checksums would be weak. */
export function maskedCrc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const crc = crc32c(bytes, start, end);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
