// A strict JSON reader for headers of files. JSON.parse would not do: it keeps the last of two equal keys, where another
// reader may keep the first, and it builds the whole header (up to 100 MB of text) before anything can be refused. This
// one reports duplicate keys and stops at the first contradiction, within twice the file's size in memory.
import { type BadFile, isForbiddenName, quote } from "./tensor.ts";
import type { Json } from "../../core/options.ts";

const [TAB, LF, CR, SPACE, QUOTE, COMMA, ZERO, NINE, COLON, OPEN_LIST, BACKSLASH, CLOSE_LIST, OPEN, CLOSE] = [
  0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x30, 0x39, 0x3a, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
] as const;

const MAX_DEPTH = 16;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class JsonReader {
  readonly #bytes: Uint8Array;
  readonly #bad: BadFile;
  readonly #what: string;
  #at = 0;

  /** `what` says in errors what the text is: "the header", "the index". */
  constructor(bytes: Uint8Array, what: string, bad: BadFile) {
    this.#bytes = bytes;
    this.#what = what;
    this.#bad = bad;
  }

  /** Reads `{ "key": … }`, calling `member` at each value, which it must read. A key that comes twice is an error. */
  object(member: (key: string) => void): void {
    // Most objects have three members: a set would cost more than it saves.
    const first: string[] = [];
    let rest: Set<string> | undefined;
    this.#expect(OPEN, "{");
    if (this.#peek() === CLOSE) return void this.#at++;
    for (;;) {
      const key = this.string();
      if (first.includes(key) || rest?.has(key)) throw this.#bad(`${this.#what} has the name ${quote(key)} twice`);
      if (isForbiddenName(key)) throw this.#bad(`${this.#what} has the forbidden name ${quote(key)}`);
      if (first.length < 8) first.push(key);
      else (rest ??= new Set()).add(key);
      this.#expect(COLON, ":");
      member(key);
      if (this.#peek() !== COMMA) return this.#expect(CLOSE, "}");
      this.#at++;
    }
  }

  /** Reads `[ … ]`, calling `item` at each value, which it must read. */
  list(item: () => void): void {
    this.#expect(OPEN_LIST, "[");
    if (this.#peek() === CLOSE_LIST) return void this.#at++;
    for (;;) {
      item();
      if (this.#peek() !== COMMA) return this.#expect(CLOSE_LIST, "]");
      this.#at++;
    }
  }

  string(): string {
    this.#expect(QUOTE, "a string");
    const bytes = this.#bytes;
    const from = this.#at;
    let plain = true;
    for (; ; this.#at++) {
      const byte = bytes[this.#at];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < SPACE) throw this.#wrong("the end of a string");
      if (byte === BACKSLASH) this.#at++;
      if (byte === BACKSLASH || byte >= 0x80) plain = false;
    }
    const text = bytes.subarray(from, this.#at++);
    // A call per short name is fast; a long text would not fit on the stack.
    if (plain && text.length <= 256) return String.fromCharCode.apply(null, text as unknown as number[]);
    return this.#decode(text);
  }

  /** Escapes and everything beyond ASCII: rare, so left to the decoders of the platform. */
  #decode(text: Uint8Array): string {
    try {
      const value = JSON.parse(`"${utf8.decode(text)}"`) as string;
      // Half a character can be written as an escape and then exists in no encoding.
      if (!/\p{Surrogate}/u.test(value)) return value;
    } catch {
      // Said below.
    }
    throw this.#bad(`${this.#what} has a string that is not valid text`);
  }

  /** A whole number ≥ 0 in plain digits, which is all that sizes and offsets may be. */
  whole(): number {
    const bytes = this.#bytes;
    this.#peek();
    const from = this.#at;
    let value = 0;
    for (let byte = bytes[from]; byte !== undefined && byte >= ZERO && byte <= NINE; byte = bytes[++this.#at])
      value = value * 10 + (byte - ZERO);
    const digits = this.#at - from;
    if (digits === 0 || (digits > 1 && bytes[from] === ZERO)) throw this.#wrong("a whole number");
    if (!Number.isSafeInteger(value)) throw this.#bad(`${this.#what} has a number beyond 2⁵³`);
    return value;
  }

  /** Any value, for parts that are only passed on. */
  value(depth = 0): Json {
    if (depth > MAX_DEPTH) throw this.#bad(`${this.#what} is nested deeper than ${MAX_DEPTH} levels`);
    const first = this.#peek();
    if (first === QUOTE) return this.string();
    if (first === OPEN_LIST) {
      const items: Json[] = [];
      this.list(() => void items.push(this.value(depth + 1)));
      return items;
    }
    if (first === OPEN) {
      const members: Record<string, Json> = Object.create(null) as Record<string, Json>;
      this.object((key) => void (members[key] = this.value(depth + 1)));
      return members;
    }
    return this.#scalar();
  }

  #scalar(): Json {
    const from = this.#at;
    while (/[\w.+-]/.test(String.fromCharCode(this.#bytes[this.#at] ?? 0))) this.#at++;
    const text = String.fromCharCode(...this.#bytes.subarray(from, Math.min(this.#at, from + 64)));
    try {
      return JSON.parse(text) as Json;
    } catch {
      this.#at = from;
      throw this.#wrong("a value");
    }
  }

  /** After the value only white space may follow. */
  end(): void {
    if (this.#peek() !== undefined) throw this.#wrong("the end");
  }

  /** The next byte that is not white space. */
  #peek(): number | undefined {
    const bytes = this.#bytes;
    let byte = bytes[this.#at];
    while (byte === SPACE || byte === LF || byte === CR || byte === TAB) byte = bytes[++this.#at];
    return byte;
  }

  #expect(byte: number, shown: string): void {
    if (this.#peek() !== byte) throw this.#wrong(shown);
    this.#at++;
  }

  #wrong(wanted: string): Error {
    return this.#bad(`${this.#what} is not the JSON it should be: expected ${wanted} at byte ${this.#at}`);
  }
}
