// The distinct strings of a column, found by their bytes: a category that occurs a million times is decoded once.
import { asciiOf } from "./cells.ts";
import { longer } from "./column.ts";

const decoder = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Above this, decoding is faster than joining characters. */
const SHORT = 24;

/** Gives each distinct string a code, in the order of their first occurrence. */
export class ByteDictionary {
  readonly names: string[] = [];
  /** A hash table with open addressing: code + 1, or 0. Its length is a power of two. */
  #slots = new Int32Array(1024);
  #hashes = new Int32Array(512);
  /** The bytes of all names; name i ends at `#ends[i]`. */
  #bytes = new Uint8Array(4096);
  #ends = new Float64Array(512);

  /** The code of a string, or NaN when its bytes are not UTF-8. */
  codeOf(bytes: Uint8Array, start: number, end: number): number {
    let hash = end - start;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
    hash ^= hash >>> 15;
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const code = this.#slots[slot]! - 1;
      if (code < 0) return this.#add(bytes, start, end, hash, slot);
      if (this.#hashes[code] === hash && this.#is(code, bytes, start, end)) return code;
      slot = (slot + 1) & mask;
    }
  }

  #is(code: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = code === 0 ? 0 : this.#ends[code - 1]!;
    if (this.#ends[code]! - from !== end - start) return false;
    for (let i = start, at = from; i < end; i++, at++) if (this.#bytes[at] !== bytes[i]) return false;
    return true;
  }

  #add(bytes: Uint8Array, start: number, end: number, hash: number, slot: number): number {
    const name = textOf(bytes, start, end);
    if (name === undefined) return NaN;
    const code = this.names.push(name) - 1;
    const from = code === 0 ? 0 : this.#ends[code - 1]!;
    this.#reserve(code, from + end - start);
    this.#bytes.set(bytes.subarray(start, end), from);
    this.#ends[code] = from + end - start;
    this.#hashes[code] = hash;
    this.#slots[slot] = code + 1;
    if (this.names.length * 2 > this.#slots.length) this.#rehash();
    return code;
  }

  #reserve(code: number, size: number): void {
    if (code === this.#ends.length) {
      this.#ends = longer(this.#ends, code * 2);
      this.#hashes = longer(this.#hashes, code * 2);
    }
    if (size > this.#bytes.length) this.#bytes = longer(this.#bytes, Math.max(size, this.#bytes.length * 2));
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2);
    const mask = this.#slots.length - 1;
    for (let code = 0; code < this.names.length; code++) {
      let slot = this.#hashes[code]! & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = code + 1;
    }
  }
}

/** The text of bytes, or undefined when they are not UTF-8. */
export function textOf(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (end - start <= SHORT && isAscii(bytes, start, end)) return asciiOf(bytes, start, end);
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i]! > 127) return false;
  return true;
}
