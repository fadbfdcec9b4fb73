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
    const value = scale < 0 && scale >= -22 ? quotient(bytes, start, POWERS[-scale]!) : NaN;
    if (Number.isNaN(value)) return Number(bytes.toString("latin1", from, at));
    return isNegative ? -value : value;
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

/** Digits that fit into a double exactly, and how many more can be added to them here. */
const HEAD = 15;
const MOST = 19;
/** Splits a double into two halves whose products are exact. */
const SPLIT = 2 ** 27 + 1;
/** More than what the division below can be wrong by, relative to its result. */
const DOUBT = 2 ** -98;

/**
 * The digits from `at` on, without their dot, divided by a power of ten up to 10^22. Computed with twice the precision of
 * a double, which rounds nearly every number correctly; NaN for the rest.
 */
function quotient(bytes: Uint8Array, at: number, power: number): number {
  let head = 0;
  let tail = 0;
  let shift = 1;
  let digits = 0;
  for (let i = at; ; i++) {
    const byte = bytes[i]!;
    if (byte === DOT) continue;
    if (!(byte >= ZERO && byte <= NINE)) break;
    if (digits === 0 && byte === ZERO) continue;
    if (++digits <= HEAD) head = head * 10 + (byte - ZERO);
    else {
      tail = tail * 10 + (byte - ZERO);
      shift *= 10;
    }
  }
  if (digits > MOST) return NaN;
  // All digits as the exact sum of two doubles.
  const product = head * shift;
  const high = product + tail;
  const low = tail - (high - product) + errorOf(head, shift, product);
  // Long division: the first quotient, and what it leaves.
  const first = high / power;
  const back = first * power;
  const second = (high - back - errorOf(first, power, back) + low) / power;
  const doubt = first * DOUBT;
  const value = first + (second - doubt);
  return value === first + (second + doubt) ? value : NaN;
}

/** What is missing from a rounded product (Dekker's): the exact one is `product + errorOf(a, b, product)`. */
function errorOf(a: number, b: number, product: number): number {
  const wideA = SPLIT * a;
  const highA = wideA - (wideA - a);
  const lowA = a - highA;
  const wideB = SPLIT * b;
  const highB = wideB - (wideB - b);
  const lowB = b - highB;
  return lowA * lowB - (product - highA * highB - lowA * highB - highA * lowB);
}
