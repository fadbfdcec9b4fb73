// Cuts the bytes of a CSV file into rows and cells, as they arrive. Quotes as in RFC 4180 and Python's csv: a cell that
// begins with a quote ends with one, may hold separators and line breaks, and has two quotes for each of its own.
import { DataError } from "../../core/errors.ts";

/** A row longer than this has lost a closing quote. */
const MAX_ROW_BYTES = 64 * 2 ** 20;

const [LF, CR, QUOTE, SPACE, TAB] = [10, 13, 34, 32, 9];

/** Reads rows one after the other from bytes that arrive in blocks of any size. */
export class CsvRows {
  /** The cells of the current row: bytes `starts[i]` … `ends[i]` of `bytesOf(i)`. */
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** Cells in the current row. */
  count = 0;
  /** The line at which the current row begins, from 1. */
  line = 1;

  readonly #source: string;
  readonly #separator: Uint8Array;
  /** Bytes that end a cell without quotes. */
  readonly #stops = new Uint8Array(256);
  #bytes: Uint8Array = new Uint8Array();
  /** Where the next row begins. */
  #at = 0;
  #nextLine = 1;
  #ended = false;
  /** Blocks that wait until an incomplete row has doubled: so a row of many blocks is scanned a few times only. */
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #needed = 0;
  /** Cells that had to be rewritten without their quotes, one after the other; `#plain[i]` is where cell i is. */
  #scratch = new Uint8Array(256);
  #scratchUsed = 0;
  readonly #rewritten: boolean[] = [];

  constructor(source: string, separator: string) {
    this.#source = source;
    this.#separator = new TextEncoder().encode(separator);
    for (const stop of [this.#separator[0]!, LF, CR]) this.#stops[stop] = 1;
  }

  /** Adds the next bytes of the file. */
  push(block: Uint8Array): void {
    this.#waiting.push(block);
    this.#waitingBytes += block.length;
    if (this.#waitingBytes >= this.#needed) this.#join();
  }

  /** No more bytes come. */
  end(): void {
    this.#join();
    this.#ended = true;
  }

  #join(): void {
    const rest = this.#bytes.subarray(this.#at);
    const blocks = rest.length > 0 ? [rest, ...this.#waiting] : this.#waiting;
    if (blocks.length === 1) this.#bytes = blocks[0]!;
    else {
      this.#bytes = new Uint8Array(rest.length + this.#waitingBytes);
      let at = 0;
      for (const block of blocks) {
        this.#bytes.set(block, at);
        at += block.length;
      }
    }
    this.#at = 0;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#needed = 0;
  }

  /** The bytes that hold cell `i` of the current row. */
  bytesOf(i: number): Uint8Array {
    return this.#rewritten[i] ? this.#scratch : this.#bytes;
  }

  /** Reads the next row that is not blank; false when more bytes are needed, or at the end. */
  next(): boolean {
    while (this.#waitingBytes === 0 && this.#at < this.#bytes.length) {
      this.#scratchUsed = 0;
      const end = this.#row();
      if (end < 0) return this.#incomplete();
      this.#at = end;
      const blank = this.count === 1 && this.starts[0] === this.ends[0] && !this.#quoted;
      if (!blank) return true;
    }
    return false;
  }

  /** Whether the last cell was quoted: a line with "" is not blank. */
  #quoted = false;

  #incomplete(): false {
    const length = this.#bytes.length - this.#at;
    if (length > MAX_ROW_BYTES) {
      throw new DataError(
        `${this.#source}:${this.line}: the row that begins here is longer than 64 MiB. Is a closing quote missing?`,
      );
    }
    this.#needed = length;
    return false;
  }

  /** Reads a row; returns where the next one begins, or −1 when this one is not complete. */
  #row(): number {
    const bytes = this.#bytes;
    this.line = this.#nextLine;
    let at = this.#at;
    let { line } = this;
    let cell = 0;
    for (;;) {
      this.#quoted = bytes[at] === QUOTE;
      this.#rewritten[cell] = false;
      let end: number;
      if (this.#quoted) {
        const close = this.#closingQuote(at + 1);
        if (close < 0) return -1;
        end = this.#cellEnd(close + 1);
        if (end < 0) return -1;
        this.starts[cell] = at + 1;
        this.ends[cell] = close;
        if (this.#escapes || end > close + 1) this.#rewrite(cell, at, end);
        line += this.#breaks(at, close);
      } else {
        end = this.#cellEnd(at);
        if (end < 0) return -1;
        this.#trim(cell, at, end);
      }
      cell++;
      const stop = bytes[end];
      if (stop === undefined || stop === LF || stop === CR) {
        // A line break of two bytes may be in two blocks.
        if (stop === CR && end + 1 === bytes.length && !this.#ended) return -1;
        this.count = cell;
        this.#nextLine = line + 1;
        if (stop === undefined) return end;
        return stop === CR && bytes[end + 1] === LF ? end + 2 : end + 1;
      }
      at = end + this.#separator.length;
    }
  }

  /** Whether the quoted cell has quotes of its own. */
  #escapes = false;

  #closingQuote(from: number): number {
    this.#escapes = false;
    for (let at = this.#bytes.indexOf(QUOTE, from); at >= 0; at = this.#bytes.indexOf(QUOTE, at + 2)) {
      if (at + 1 === this.#bytes.length && !this.#ended) return -1;
      if (this.#bytes[at + 1] !== QUOTE) return at;
      this.#escapes = true;
    }
    if (!this.#ended) return -1;
    throw new DataError(`${this.#source}:${this.line}: a quoted cell in the row that begins here never ends.`);
  }

  /** The position of the separator or line break that ends a cell without quotes; −1 when it has not arrived yet. */
  #cellEnd(from: number): number {
    const bytes = this.#bytes;
    const stops = this.#stops;
    const separator = this.#separator;
    const { length } = bytes;
    for (let at = from; at < length; at++) {
      if (stops[bytes[at]!] === 0) continue;
      if (bytes[at] !== separator[0] || separator.length === 1) return at;
      if (at + separator.length > length && !this.#ended) return -1;
      if (separator.every((byte, i) => bytes[at + i] === byte)) return at;
    }
    return this.#ended ? length : -1;
  }

  #trim(cell: number, from: number, to: number): void {
    let start = from;
    let end = to;
    while (start < end && isBlank(this.#bytes[start]!)) start++;
    while (end > start && isBlank(this.#bytes[end - 1]!)) end--;
    this.starts[cell] = start;
    this.ends[cell] = end;
  }

  /** Writes a cell without its quotes. What follows the closing quote belongs to the cell, as it does in Python. */
  #rewrite(cell: number, from: number, to: number): void {
    const start = this.#scratchUsed;
    while (this.#scratch.length < start + to - from) this.#growScratch();
    let [out, inside] = [start, true];
    for (let at = from + 1; at < to; at++) {
      const byte = this.#bytes[at]!;
      if (inside && byte === QUOTE) {
        if (this.#bytes[at + 1] !== QUOTE || at + 1 === to) {
          inside = false;
          continue;
        }
        at++;
      }
      this.#scratch[out++] = byte;
    }
    this.starts[cell] = start;
    this.ends[cell] = out;
    this.#rewritten[cell] = true;
    this.#scratchUsed = out;
  }

  #growScratch(): void {
    const longer = new Uint8Array(this.#scratch.length * 2);
    longer.set(this.#scratch);
    this.#scratch = longer;
  }

  /** Line breaks inside a quoted cell. */
  #breaks(from: number, to: number): number {
    let count = 0;
    for (let at = from; at < to; at++) {
      const byte = this.#bytes[at];
      if (byte === LF || (byte === CR && this.#bytes[at + 1] !== LF)) count++;
    }
    return count;
  }
}

const isBlank = (byte: number): boolean => byte === SPACE || byte === TAB;
