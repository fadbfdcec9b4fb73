// TOML as a tree with positions: values from its parser, which has none of valid ones, places from a scan of the text.
import { ConfigError, type ConfigPath } from "./config-error.ts";
import { checkKey } from "./keys.ts";
import { sentence } from "./sentence.ts";
import { placesOf, type Place } from "./toml-places.ts";
import { checkDepth, type ConfigNode, type Entry, type Source } from "./tree.ts";

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
    const places = placesOf(this.#source.text, unquote);
    return this.#read(root, places, []);
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

  #read(value: TomlValue, place: Place, path: ConfigPath): ConfigNode {
    const { directory } = this.#source;
    const at = this.#source.at(place.at);
    checkDepth(path, at);
    if (Array.isArray(value)) {
      const items = value.map((item, i) => this.#read(item, place.items[i]!, [...path, i]));
      return { kind: "list", at, directory, items };
    }
    // Its text, which is what the same date without quotes is in YAML.
    if (value instanceof this.#toml.TomlDate) return { kind: "leaf", at, directory, value: value.toISOString() };
    if (typeof value !== "object") return { kind: "leaf", at, directory, value };
    const entries = Object.entries(value).map(([key, child]): [string, Entry] => {
      const inner = [...path, key];
      const where = place.keys.get(key)!;
      checkKey(key, inner, this.#source.at(where.key));
      return [key, { at: this.#source.at(where.key), value: this.#read(child, where, inner) }];
    });
    return { kind: "map", at, directory, entries: new Map(entries) };
  }
}

export async function parseToml(source: Source): Promise<ConfigNode> {
  return new TomlReader(await import("smol-toml"), source).readAll();
}
