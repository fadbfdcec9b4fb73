// TOML as a tree with positions. smol-toml reports positions of errors only, so a scan of the valid text finds the others.
import { ConfigError, type ConfigPath, sentence } from "./config-error.ts";
import { type ConfigNode, type Entry, type Source, checkDepth, checkKey } from "./config-tree.ts";

type Toml = typeof import("smol-toml");
type TomlTable = ReturnType<Toml["parse"]>;
type TomlValue = TomlTable[string];

class TomlReader {
  readonly #toml: Toml;
  readonly #source: Source;

  constructor(toml: Toml, source: Source) {
    this.#toml = toml;
    this.#source = source;
  }

  readAll(): ConfigNode {
    const root = this.#parse(this.#source.text);
    const unquote = (token: string): string => Object.keys(this.#parse(`${token} = 0`))[0]!;
    const offsets = offsetsOf(this.#source.text, unquote);
    return this.#read(root, offsets, []);
  }

  #parse(text: string): TomlTable {
    try {
      return this.#toml.parse(text, {});
    } catch (error) {
      if (!(error instanceof this.#toml.TomlError)) throw error;
      const { line, column } = error;
      const [reason] = error.message.replace("Invalid TOML document: ", "").split("\n");
      throw new ConfigError(`This is not valid TOML: ${sentence(reason!)}`, [], {
        ...this.#source.at(0),
        line,
        column,
      });
    }
  }

  #read(value: TomlValue, offsets: Offsets, path: ConfigPath): ConfigNode {
    const { directory } = this.#source;
    const at = this.#source.at(offsets.at);
    checkDepth(path, at);
    if (Array.isArray(value)) {
      const items = value.map((item, i) => this.#read(item, offsets.items[i]!, [...path, i]));
      return { kind: "list", at, directory, items };
    }
    // A date is its text, as in YAML.
    if (value instanceof this.#toml.TomlDate) return { kind: "leaf", at, directory, value: value.toISOString() };
    if (typeof value !== "object") return { kind: "leaf", at, directory, value };
    const entries = Object.entries(value).map(([key, child]): [string, Entry] => {
      const inner = [...path, key];
      const where = offsets.keys.get(key)!;
      checkKey(key, inner, this.#source.at(where.key));
      return [key, { at: this.#source.at(where.key), value: this.#read(child, where, inner) }];
    });
    return { kind: "map", at, directory, entries: new Map(entries) };
  }
}

export async function parseToml(source: Source): Promise<ConfigNode> {
  return new TomlReader(await import("smol-toml"), source).readAll();
}

/** Where an entry is, and the entries in it. */
interface Offsets {
  /** Offset of the key, or of the header that makes a table. */
  readonly key: number;
  /** Offset of the value. */
  at: number;
  readonly keys: Map<string, Offsets>;
  readonly items: Offsets[];
}

interface KeyPart {
  readonly name: string;
  readonly at: number;
}

const BLANK = /(?:[ \t\r\n]|#[^\n]*)*/y;
const BARE_KEY = /[A-Za-z0-9_-]+/y;
/** Longest opening first; up to two quotes before a closing one belong to the text. */
const STRING = /"""(?:[^\\]|\\[^])*?"{3,5}|'''[^]*?'{3,5}|"(?:[^"\\]|\\.)*"|'[^']*'/y;
const WORD = /[^,\]}#\r\n]*/y;

const offsetsAt = (key: number): Offsets => ({ key, at: key, keys: new Map(), items: [] });

/** Finds the offsets of keys and values in a valid text. */
class TomlScanner {
  readonly #text: string;
  readonly #unquote: (token: string) => string;
  #offset = 0;

  constructor(text: string, unquote: (token: string) => string) {
    this.#text = text;
    this.#unquote = unquote;
  }

  scan(): Offsets {
    const root = offsetsAt(0);
    let table = root;
    for (this.#match(BLANK); this.#offset < this.#text.length; this.#match(BLANK)) {
      if (this.#text[this.#offset] === "[") table = this.#header(root);
      else this.#entry(table);
    }
    return root;
  }

  #header(root: Offsets): Offsets {
    const isItem = this.#text[++this.#offset] === "[";
    if (isItem) this.#offset++;
    const parts = this.#key();
    this.#offset += isItem ? 2 : 1;
    const table = this.#enter(root, parts);
    if (!isItem) return table;
    const item = offsetsAt(parts[0]!.at);
    table.items.push(item);
    return item;
  }

  #entry(table: Offsets): void {
    const parts = this.#key();
    this.#offset++;
    this.#match(BLANK);
    this.#value(this.#enter(table, parts));
  }

  /** The entry at a dotted key below `table`; in a list of tables, below its last table. */
  #enter(table: Offsets, parts: readonly KeyPart[]): Offsets {
    let here = table;
    for (const { name, at } of parts) {
      here = here.items.at(-1) ?? here;
      const next = here.keys.get(name) ?? offsetsAt(at);
      here.keys.set(name, next);
      here = next;
    }
    return here;
  }

  #value(into: Offsets): void {
    into.at = this.#offset;
    const first = this.#text[this.#offset];
    if (first === "[") this.#each("]", () => this.#value(into.items[into.items.push(offsetsAt(this.#offset)) - 1]!));
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

  /** A dotted key, up to the `=` or `]` after it. */
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
const offsetsOf = (text: string, unquote: (token: string) => string): Offsets => new TomlScanner(text, unquote).scan();
