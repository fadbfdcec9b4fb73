// Strict JSON as a tree with positions. Errors name the line, the column and the path of every value, which JSON.parse does
// not report: that is why there is a parser here.
import { ConfigError, type ConfigPath, type Position } from "./config-error.ts";
import {
  type ConfigNode,
  type Entry,
  type LeafNode,
  type Source,
  checkDepth,
  checkKey,
  checkTwice,
  checkExact,
} from "./config-tree.ts";

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const WORD = /[A-Za-z0-9_$.+-]+/y;
const CONSTANTS = new Map<string, LeafNode["value"]>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

class JsonReader {
  readonly #source: Source;
  #offset = 0;

  constructor(source: Source) {
    this.#source = source;
  }

  readAll(): ConfigNode {
    const root = this.#value([]);
    this.#space();
    if (this.#offset < this.#source.text.length)
      this.#fail(`Expected the end of the file, found ${this.#found()}.`, []);
    return root;
  }

  #value(path: ConfigPath): ConfigNode {
    this.#space();
    const at = this.#at();
    const { directory } = this.#source;
    checkDepth(path, at);
    const first = this.#peek();
    if (first === "{") return { kind: "map", at, directory, entries: this.#entries(path) };
    if (first === "[") return { kind: "list", at, directory, items: this.#items(path) };
    if (first === '"') return { kind: "leaf", at, directory, value: this.#string(path) };
    const start = this.#offset;
    const text = this.#match(NUMBER);
    // 1.5.2 and 012 begin with a number, but are none.
    if (text !== "" && !/[\w.+-]/.test(this.#peek())) {
      checkExact(text, Number(text), path, at);
      return { kind: "leaf", at, directory, value: Number(text) };
    }
    this.#offset = start;
    const word = this.#match(WORD);
    if (CONSTANTS.has(word)) return { kind: "leaf", at, directory, value: CONSTANTS.get(word)! };
    this.#offset = start;
    return this.#fail(`Expected a value, found ${this.#found()}.`, path);
  }

  #entries(path: ConfigPath): Map<string, Entry> {
    const entries = new Map<string, Entry>();
    this.#offset++;
    this.#space();
    if (this.#take("}")) return entries;
    do {
      this.#space();
      const at = this.#at();
      if (this.#peek() !== '"') this.#fail(`Expected a key in double quotes, found ${this.#found()}.`, path);
      const key = this.#string(path);
      const inner = [...path, key];
      checkKey(key, inner, at);
      checkTwice(entries.get(key)?.at, key, inner, at);
      this.#space();
      if (!this.#take(":")) this.#fail(`Expected \`:\` after the key, found ${this.#found()}.`, inner);
      entries.set(key, { at, value: this.#value(inner) });
      this.#space();
    } while (this.#take(","));
    if (!this.#take("}")) this.#fail(`Expected \`,\` or \`}\`, found ${this.#found()}.`, path);
    return entries;
  }

  #items(path: ConfigPath): ConfigNode[] {
    const items: ConfigNode[] = [];
    this.#offset++;
    this.#space();
    if (this.#take("]")) return items;
    do {
      items.push(this.#value([...path, items.length]));
      this.#space();
    } while (this.#take(","));
    if (!this.#take("]")) this.#fail(`Expected \`,\` or \`]\`, found ${this.#found()}.`, path);
    return items;
  }

  #string(path: ConfigPath): string {
    const { text } = this.#source;
    const start = this.#offset;
    for (let i = start + 1; i < text.length && !/[\r\n]/.test(text[i]!); i++) {
      if (text[i] === "\\") i++;
      else if (text[i] === '"') {
        this.#offset = i + 1;
        return this.#unescape(start, path);
      }
    }
    return this.#fail("This string has no closing quote in its line.", path);
  }

  #unescape(start: number, path: ConfigPath): string {
    const token = this.#source.text.slice(start, this.#offset);
    try {
      return JSON.parse(token) as string;
    } catch {
      const good = /^"(?:[^"\\\t]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/.exec(token)![0].length;
      this.#offset = start + good;
      return this.#fail(
        token[good] === "\t" ? "A tab in a string is written `\\t`." : "JSON has no such escape.",
        path,
      );
    }
  }

  #space(): void {
    this.#match(SPACE);
    if (/^\/[/*]/.test(this.#source.text.slice(this.#offset, this.#offset + 2)))
      this.#fail("JSON has no comments. Remove it, or write the config as YAML or TOML.", []);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#offset;
    const text = pattern.exec(this.#source.text)?.[0] ?? "";
    this.#offset += text.length;
    return text;
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#offset++;
    return true;
  }

  #peek(): string {
    return this.#source.text[this.#offset] ?? "";
  }

  #found(): string {
    const rest = /^(?:[\w$.+-]+|.)/su.exec(this.#source.text.slice(this.#offset, this.#offset + 30))?.[0];
    return rest === undefined ? "the end of the file" : `\`${rest}\``;
  }

  #at(): Position {
    return this.#source.at(this.#offset);
  }

  #fail(message: string, path: ConfigPath): never {
    throw new ConfigError(`This is not valid JSON: ${message}`, path, this.#at());
  }
}

export const parseJson = (source: Source): ConfigNode => new JsonReader(source).readAll();
