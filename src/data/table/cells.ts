// Cells of text files, read from bytes: numbers, booleans, what counts as missing, and the type that a column can have.
import type { ColumnType } from "./column.ts";
import { parseDate } from "./dates.ts";

const POWERS = /* @__PURE__ */ Array.from({ length: 23 }, (_, i) => 10 ** i);

/** The text of a cell, one character for each byte: enough for numbers and markers. */
export function asciiOf(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}

/**
 * The number in a cell, or NaN. Up to 2⁵³ digits and power of ten are both exact, so that one division rounds correctly;
 * what is longer goes the slow way.
 */
export function parseNumber(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  const sign = bytes[at];
  if (sign === 45 || sign === 43) at++;
  let digits = 0;
  const first = at;
  for (; at < end; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) break;
    digits = digits * 10 + digit;
  }
  let seen = at - first;
  let decimals = 0;
  if (at < end && bytes[at] === 46) {
    const point = at++;
    for (; at < end; at++) {
      const digit = bytes[at]! - 48;
      if (digit < 0 || digit > 9) break;
      digits = digits * 10 + digit;
    }
    decimals = at - point - 1;
    seen += decimals;
  }
  if (seen === 0 || at < end) return unusualNumber(asciiOf(bytes, start, end));
  if (decimals > 22 || digits > Number.MAX_SAFE_INTEGER) return Number(asciiOf(bytes, start, end));
  const value = decimals === 0 ? digits : digits / POWERS[decimals]!;
  return sign === 45 ? -value : value;
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;

/** Numbers with exponents, and `inf`. Not what Number() takes besides: 0x10, an empty text. */
function unusualNumber(text: string): number {
  if (DECIMAL.test(text)) return Number(text);
  const infinite = INFINITE.exec(text);
  if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
  return NaN;
}

/** 1, 0, or NaN for what is neither. */
export function parseBoolean(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > 5) return NaN;
  const text = asciiOf(bytes, start, end).toLowerCase();
  if (text === "true" || text === "yes" || text === "1") return 1;
  return text === "false" || text === "no" || text === "0" ? 0 : NaN;
}

/** What counts as missing where the options do not say. */
export const MISSING: readonly string[] = [
  "",
  "NA",
  "N/A",
  "n/a",
  "#N/A",
  "<NA>",
  "NaN",
  "nan",
  "null",
  "NULL",
  "None",
];

/** Tests cells against the markers of missing values. */
export function missingTest(markers: readonly string[]): (bytes: Uint8Array, start: number, end: number) => boolean {
  const known = new Set(markers);
  const empty = known.has("");
  const longest = Math.max(0, ...markers.map((each) => each.length));
  const firstBytes = new Uint8Array(256);
  for (const marker of markers) if (marker !== "") firstBytes[new TextEncoder().encode(marker)[0]!] = 1;
  return (bytes, start, end) => {
    if (start === end) return empty;
    if (firstBytes[bytes[start]!] === 0 || end - start > longest) return false;
    return known.has(asciiOf(bytes, start, end));
  };
}

/** Spaces around a number, a boolean or a date do not count, not even in quotes. */
export function firstOf(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] === 32) at++;
  return at;
}

/** The end of what spaces surround. */
export function lastOf(bytes: Uint8Array, start: number, end: number): number {
  let at = end;
  while (at > start && bytes[at - 1] === 32) at--;
  return at;
}

/** Which types a column can have, judged by the cells seen so far. */
export class TypeGuess {
  #number = true;
  #boolean = true;
  #date = true;
  #seen = false;

  /** A cell that is not missing. */
  add(bytes: Uint8Array, from: number, to: number): void {
    const [start, end] = [firstOf(bytes, from, to), lastOf(bytes, from, to)];
    this.#seen = true;
    this.#number &&= looksLikeNumber(bytes, start, end);
    this.#date &&= !Number.isNaN(parseDate(bytes, start, end));
    this.#boolean &&= isTrueOrFalse(bytes, start, end);
  }

  /** A column without any value is one of numbers, all missing. */
  get type(): ColumnType {
    if (this.#number || !this.#seen) return "number";
    if (this.#date) return "date";
    return this.#boolean ? "boolean" : "string";
  }
}

/** 007 is a number where one is declared, but more likely a name: as a number it would lose its zeros. */
function looksLikeNumber(bytes: Uint8Array, start: number, end: number): boolean {
  const second = bytes[start + 1] ?? 0;
  if (end - start > 1 && bytes[start] === 48 && second >= 48 && second <= 57) return false;
  return !Number.isNaN(parseNumber(bytes, start, end));
}

/** `yes`, `no`, 1 and 0 are booleans only where that is declared: labels and counts look the same. */
function isTrueOrFalse(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start >= 4 && !Number.isNaN(parseBoolean(bytes, start, end));
}
