// Reads a record's line byte by byte, without creating an object: only the shape that our own writer produces.
import type { Columns } from "./columns.ts";

const [QUOTE, COMMA, MINUS, PLUS, DOT, ZERO, NINE, COLON] = [34, 44, 45, 43, 46, 48, 57, 58];
const [OPEN, CLOSE, BACKSLASH, SPACE, UPPER_E, LOWER_E] = [123, 125, 92, 32, 69, 101];

/** Powers of ten that are exact, and whole numbers below which all are. */
const POWERS = Float64Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));
const EXACT = 2 ** 53;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const WORDS: readonly (readonly [word: Uint8Array, value: number])[] = [
  [bytesOf('"NaN"'), NaN],
  [bytesOf('"Infinity"'), Infinity],
  [bytesOf('"-Infinity"'), -Infinity],
];

function begins(bytes: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
  return true;
}

/** Predicts the next key. */
interface Follower {
  next: number;
}

export class LineScanner {
  readonly #columns: Columns;
  readonly #start: Follower = { next: 0 };
  /** Where the last key or value ended; -1 if it was of an unknown kind. */
  #at = 0;

  constructor(columns: Columns) {
    this.#columns = columns;
  }

  /** Takes the line as a record; returns false, and takes nothing, if it has another shape. A newline must follow it. */
  scan(bytes: Buffer, from: number, to: number): boolean {
    if (bytes[from] !== OPEN) return false;
    const columns = this.#columns;
    const { list } = columns;
    let at = from + 1;
    let before: Follower = this.#start;
    for (let count = 0; ;) {
      // The prediction is right as long as lines have the same keys.
      const { key } = list[before.next]!;
      if (begins(bytes, at, key)) at += key.length;
      else {
        const found = this.#key(bytes, at);
        if (found < 0) return false;
        before.next = found;
        at = this.#at;
      }
      const value = this.#value(bytes, at);
      if (this.#at < 0) return false;
      columns.note(count++, before.next, value);
      const end = bytes[this.#at];
      at = this.#at + 1;
      if (end === CLOSE) return at === to && columns.commit(count);
      if (end !== COMMA) return false;
      before = list[before.next]!;
    }
  }

  /** The column of the key that begins here; -1 if it needs a full parser. */
  #key(bytes: Buffer, at: number): number {
    if (bytes[at] !== QUOTE) return -1;
    let end = at + 1;
    while (bytes[end] !== QUOTE) {
      if (bytes[end] === BACKSLASH || bytes[end]! < SPACE || bytes[end] === undefined) return -1;
      end++;
    }
    if (bytes[end + 1] !== COLON) return -1;
    this.#at = end + 2;
    return this.#columns.place(bytes.toString("utf8", at + 1, end));
  }

  #value(bytes: Buffer, from: number): number {
    if (bytes[from] === QUOTE) return this.#word(bytes, from);
    let at = from;
    const isNegative = bytes[at] === MINUS;
    if (isNegative) at++;
    let digits = 0;
    let number = 0;
    let scale = 0;
    let byte = bytes[at]!;
    const start = at;
    for (; byte >= ZERO && byte <= NINE; byte = bytes[++at]!) number = number * 10 + (byte - ZERO);
    digits = at - start;
    if (byte === DOT) {
      const dot = at;
      for (byte = bytes[++at]!; byte >= ZERO && byte <= NINE; byte = bytes[++at]!) number = number * 10 + (byte - ZERO);
      scale = dot + 1 - at;
      digits -= scale;
    }
    if (byte === LOWER_E || byte === UPPER_E) {
      byte = bytes[++at]!;
      const isSmall = byte === MINUS;
      if (isSmall || byte === PLUS) byte = bytes[++at]!;
      let exponent = 0;
      const first = at;
      for (; byte >= ZERO && byte <= NINE; byte = bytes[++at]!) exponent = exponent * 10 + (byte - ZERO);
      if (at === first) digits = 0;
      scale += isSmall ? -exponent : exponent;
    }
    this.#at = digits === 0 ? -1 : at;
    // A whole number below 2^53 and a power of ten up to 22 are exact, so their quotient is rounded once: it is right.
    if (number < EXACT && scale >= -22 && scale <= 22) {
      const value = scale < 0 ? number / POWERS[-scale]! : number * POWERS[scale]!;
      return isNegative ? -value : value;
    }
    return Number(bytes.toString("latin1", from, at));
  }

  #word(bytes: Uint8Array, at: number): number {
    for (const [word, value] of WORDS) {
      if (!begins(bytes, at, word)) continue;
      this.#at = at + word.length;
      return value;
    }
    this.#at = -1;
    return NaN;
  }
}
