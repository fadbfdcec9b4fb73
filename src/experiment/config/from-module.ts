// What a TypeScript or JavaScript config exports, as a tree. There are no lines to point to: the file and the path must do.
import { show } from "../../core/options.ts";
import { ConfigError, type ConfigPath, type Position } from "./config-error.ts";
import { checkKey } from "./keys.ts";
import { checkDepth, type ConfigNode, type Entry } from "./tree.ts";

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

/** An object as `{ … }` makes it; what has a class, or an object behind it, is the config's own affair. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** @param exported the default export: an object, or a function that returns one */
export async function fromModule(exported: unknown, file: string, directory: string): Promise<ConfigNode> {
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
