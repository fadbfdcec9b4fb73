// Reads a config file in the format of its extension: YAML, JSON, TOML, or a TypeScript or JavaScript module.
import { builtin } from "../../platform/builtin.ts";
import { ConfigError, type ConfigPath, type Fail, type Position } from "./config-error.ts";
import { type ConfigNode, type Entry, type Source, checkDepth, checkKey } from "./config-tree.ts";
import { didYouMeanFile } from "./project.ts";
import { show } from "../../core/options.ts";

type Parse = (source: Source) => ConfigNode | Promise<ConfigNode>;

const yaml = async (): Promise<Parse> => (await import("./parse-yaml.ts")).parseYaml;

/** Each parser is loaded when a file of its format is read. */
const PARSERS: Readonly<Record<string, () => Promise<Parse>>> = {
  ".yaml": yaml,
  ".yml": yaml,
  ".json": async () => (await import("./parse-json.ts")).parseJson,
  ".toml": async () => (await import("./parse-toml.ts")).parseToml,
};

/** @param path absolute; `shown` is how messages show it */
export async function parseFile(path: string, shown: string, project: string, fail: Fail): Promise<ConfigNode> {
  const { basename, extname } = builtin("A config", "node:path");
  const extension = extname(basename(path)).toLowerCase();
  if (Object.hasOwn(PARSERS, extension)) {
    const source = await readSource(path, shown, fail);
    return (await PARSERS[extension]!())(source);
  }
  const { MODULE_EXTENSIONS } = await import("./modules.ts");
  if (!MODULE_EXTENSIONS.includes(extension)) {
    const known = [...Object.keys(PARSERS), ...MODULE_EXTENSIONS].join(", ");
    throw fail(`${shown}: a config ends in ${known}; this one ${extension ? `in ${extension}` : "has no extension"}.`);
  }
  return parseModule(path, shown, project, fail);
}

async function parseModule(path: string, shown: string, project: string, fail: Fail): Promise<ConfigNode> {
  const { importModule } = await import("../../platform/import-module.ts");
  const { checkOneCopy } = await import("./modules.ts");
  // Checks that it exists, is a file and is not too large.
  const { directory } = await readSource(path, shown, fail);
  checkOneCopy(directory, fail);
  const exports = await importModule(path, shown, project, fail);
  if (!Object.hasOwn(exports, "default"))
    throw fail(`${shown} has no default export. Write \`export default { … }\`, or a function that returns it.`);
  return fromModule(exports.default, shown, directory);
}

/** Bytes. Ten times what a person writes; the worst input of this size takes a parser about a second. */
const LARGEST = 256_000;

/** Offsets as positions: lines end with \n, \r\n or \r, columns count UTF-16 units as editors' links do. */
function positions(file: string, text: string): (offset: number) => Position {
  const starts = [0];
  for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) starts.push(index + end.length);
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, column: offset - starts[low]! + 1 };
  };
}

/** The offset of the first bytes that are not UTF-8. */
function firstBadOffset(text: string, bytes: Uint8Array): number {
  const encoder = new TextEncoder();
  let at = text.indexOf("\uFFFD");
  for (; at !== -1; at = text.indexOf("\uFFFD", at + 1)) {
    const byte = encoder.encode(text.slice(0, at)).length;
    if (bytes[byte] !== 0xef || bytes[byte + 1] !== 0xbf || bytes[byte + 2] !== 0xbd) return at;
  }
  return 0;
}

/** Decodes a file and checks that it is text. `file` is how messages show it. */
function sourceOf(bytes: Uint8Array, file: string, directory: string): Source {
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const content = bytes.subarray(bom);
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(content);
  const at = positions(file, text);
  const source = { text, directory, at };
  if (/^[\uFFFD]{2}/.test(text) && (bytes[0]! ^ bytes[1]!) === 1)
    throw new ConfigError("The file is UTF-16. Save it as UTF-8.", [], at(0));
  if (text.includes("\uFFFD") && new TextEncoder().encode(text).length !== content.length)
    throw new ConfigError("The file is not UTF-8 text.", [], at(firstBadOffset(text, content)));
  // oxlint-disable-next-line no-control-regex -- finding them is the purpose
  const control = text.search(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/);
  if (control !== -1)
    throw new ConfigError(
      `There is a control character (U+${text.codePointAt(control)!.toString(16).padStart(4, "0").toUpperCase()}), which no config has.`,
      [],
      at(control),
    );
  return source;
}

/** @param path absolute; `fail` makes the error for a file that cannot be read */
async function readSource(path: string, file: string, fail: Fail): Promise<Source> {
  const { readFile, stat, readdir } = builtin("A config", "node:fs/promises");
  const { basename, dirname } = builtin("A config", "node:path");
  const directory = dirname(path);
  try {
    const stats = await stat(path);
    if (!stats.isFile()) throw fail(`${file} is ${stats.isDirectory() ? "a directory" : "no regular file"}.`);
    if (stats.size > LARGEST)
      throw new ConfigError(
        `The file has ${Math.ceil(stats.size / 1000)} kB; a config may have ${LARGEST / 1000}. Keep data in files of its own.`,
        [],
        { file, line: 1, column: 1 },
      );
    return sourceOf(await readFile(path), file, directory);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as { code?: string };
    if (code !== "ENOENT" && code !== "ENOTDIR")
      throw fail(`${file} cannot be read: ${(error as Error).message}`, error);
    const names = await readdir(directory).catch(() => []);
    throw fail(`There is no file ${file}.${didYouMeanFile(basename(path), names)}`);
  }
}

/** Reads what a TypeScript or JavaScript config exports as a tree. Errors have the file and the path, but no lines. */
class ModuleReader {
  readonly #at: Position;
  readonly #directory: string;
  readonly #open = new Set<object>();

  constructor(at: Position, directory: string) {
    this.#at = at;
    this.#directory = directory;
  }

  read(value: unknown, path: ConfigPath): ConfigNode {
    checkDepth(path, this.#at);
    const written = { at: this.#at, directory: this.#directory };
    if (typeof value === "bigint" || typeof value === "symbol" || value === undefined)
      throw new ConfigError(`Expected plain data, a function or an object, got ${show(value)}.`, path, this.#at);
    if (typeof value !== "object" || value === null) return { kind: "leaf", ...written, value };
    if (!Array.isArray(value) && !isPlain(value)) return { kind: "leaf", ...written, value };
    if (this.#open.has(value)) throw new ConfigError("This object is part of itself.", path, this.#at);
    this.#open.add(value);
    const node: ConfigNode = Array.isArray(value)
      ? { kind: "list", ...written, items: value.map((item: unknown, i) => this.read(item, [...path, i])) }
      : { kind: "map", ...written, entries: this.#entries(value, path) };
    this.#open.delete(value);
    return node;
  }

  #entries(object: object, path: ConfigPath): Map<string, Entry> {
    const entries = new Map<string, Entry>();
    for (const [key, value] of Object.entries(object)) {
      const inner = [...path, key];
      checkKey(key, inner, this.#at);
      if (value !== undefined) entries.set(key, { at: this.#at, value: this.read(value, inner) });
    }
    return entries;
  }
}

/** Whether an object was made by `{ … }`. Instances of classes are passed on as they are. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** @param exported the default export: an object, or a function that returns one */
async function fromModule(exported: unknown, file: string, directory: string): Promise<ConfigNode> {
  const at = { file };
  return new ModuleReader(at, directory).read(await called(exported, at), []);
}

async function called(exported: unknown, at: Position): Promise<unknown> {
  if (typeof exported !== "function") return exported;
  try {
    return await (exported as () => unknown)();
  } catch (cause) {
    const what = cause instanceof Error ? `${cause.name}: ${cause.message}` : show(cause);
    throw new ConfigError(`The function that the config exports threw ${what}`, [], at, { cause });
  }
}
