// Where the keys and values of a TOML text are. The text is valid, its parser has said so: here it is only measured.

export interface Place {
  /** Offset of the key, or of the header that makes a table. */
  readonly key: number;
  /** Offset of the value. */
  at: number;
  readonly keys: Map<string, Place>;
  readonly items: Place[];
}

interface KeyPart {
  readonly name: string;
  readonly at: number;
}

const BLANK = /(?:[ \t\r\n]|#[^\n]*)*/y;
const BARE_KEY = /[A-Za-z0-9_-]+/y;
/** Longest opening first; a closing one may have up to two more quotes before it, which are of the text. */
const STRING = /"""(?:[^\\]|\\[^])*?"{3,5}|'''[^]*?'{3,5}|"(?:[^"\\]|\\.)*"|'[^']*'/y;
const WORD = /[^,\]}#\r\n]*/y;

const place = (key: number): Place => ({ key, at: key, keys: new Map(), items: [] });

class TomlScanner {
  readonly #text: string;
  readonly #unquote: (token: string) => string;
  #offset = 0;

  constructor(text: string, unquote: (token: string) => string) {
    this.#text = text;
    this.#unquote = unquote;
  }

  scan(): Place {
    const root = place(0);
    let table = root;
    for (this.#match(BLANK); this.#offset < this.#text.length; this.#match(BLANK)) {
      if (this.#text[this.#offset] === "[") table = this.#header(root);
      else this.#entry(table);
    }
    return root;
  }

  #header(root: Place): Place {
    const isItem = this.#text[++this.#offset] === "[";
    if (isItem) this.#offset++;
    const parts = this.#key();
    this.#offset += isItem ? 2 : 1;
    const table = this.#enter(root, parts);
    if (!isItem) return table;
    const item = place(parts[0]!.at);
    table.items.push(item);
    return item;
  }

  #entry(table: Place): void {
    const parts = this.#key();
    this.#offset++;
    this.#match(BLANK);
    this.#value(this.#enter(table, parts));
  }

  /** Goes down from `table`; of a list of tables it is the last that a key means. */
  #enter(table: Place, parts: readonly KeyPart[]): Place {
    let here = table;
    for (const { name, at } of parts) {
      here = here.items.at(-1) ?? here;
      const next = here.keys.get(name) ?? place(at);
      here.keys.set(name, next);
      here = next;
    }
    return here;
  }

  #value(into: Place): void {
    into.at = this.#offset;
    const first = this.#text[this.#offset];
    if (first === "[") this.#each("]", () => this.#value(into.items[into.items.push(place(this.#offset)) - 1]!));
    else if (first === "{") this.#each("}", () => this.#entry(into));
    else this.#match(first === '"' || first === "'" ? STRING : WORD);
  }

  #each(end: string, read: () => void): void {
    this.#offset++;
    for (this.#match(BLANK); this.#text[this.#offset] !== end; this.#match(BLANK)) {
      read();
      this.#match(BLANK);
      if (this.#text[this.#offset] === ",") this.#offset++;
    }
    this.#offset++;
  }

  /** A dotted key, up to the `=` or `]` behind it. */
  #key(): KeyPart[] {
    const parts: KeyPart[] = [];
    do {
      if (parts.length > 0) this.#offset++;
      this.#match(BLANK);
      const at = this.#offset;
      const token = this.#match(/["']/.test(this.#text[at]!) ? STRING : BARE_KEY);
      parts.push({ name: /^["']/.test(token) ? this.#unquote(token) : token, at });
      this.#match(BLANK);
    } while (this.#text[this.#offset] === ".");
    return parts;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#offset;
    const text = pattern.exec(this.#text)?.[0] ?? "";
    this.#offset += text.length;
    return text;
  }
}

/** @param unquote what a quoted key means */
export const placesOf = (text: string, unquote: (token: string) => string): Place =>
  new TomlScanner(text, unquote).scan();
