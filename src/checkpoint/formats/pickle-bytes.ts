// The bytes of a pickle, read one after the other; whatever is missing is an error.
import type { BadFile } from "./bad-file.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class PickleBytes {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #bad: BadFile;
  #at = 0;

  constructor(bytes: Uint8Array, bad: BadFile) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#bad = bad;
  }

  get at(): number {
    return this.#at;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Moves on by `length` bytes; returns where they begin. */
  #skip(length: number): number {
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw this.#bad("its pickle ends in the middle");
    return from;
  }

  byte(): number {
    return this.#bytes[this.#skip(1)]!;
  }

  uint16(): number {
    return this.#view.getUint16(this.#skip(2), true);
  }

  uint32(): number {
    return this.#view.getUint32(this.#skip(4), true);
  }

  int32(): number {
    return this.#view.getInt32(this.#skip(4), true);
  }

  /** The one number that pickles have in big-endian order. */
  float64(): number {
    return this.#view.getFloat64(this.#skip(8));
  }

  text(length: number): string {
    const from = this.#skip(length);
    try {
      return utf8.decode(this.#bytes.subarray(from, this.#at));
    } catch {
      throw this.#bad("its pickle has a text that is not valid UTF-8");
    }
  }

  /** A line, as names have them. Real ones are short. */
  line(): string {
    const end = this.#bytes.subarray(this.#at, this.#at + 200).indexOf(0x0a);
    if (end < 0) throw this.#bad("its pickle has a name without an end");
    const line = this.text(end);
    this.#skip(1);
    return line;
  }

  /** A whole number of any size in two's complement. */
  long(length: number): number | bigint {
    const from = this.#skip(length);
    let value = 0n;
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.#bytes[from + i]!);
    value = BigInt.asIntN(8 * length, value);
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
}
