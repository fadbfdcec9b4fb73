// YAML 1.2 as a tree with positions, without YAML's surprises: no custom tags, no merge keys, no duplicate keys.
import type { Alias, CST, Document, Node, Pair, Scalar, YAMLMap } from "yaml";
import { ConfigError, type ConfigPath, type Position, sentence } from "./config-error.ts";
import {
  type ConfigNode,
  DEEPEST,
  type Entry,
  type ListNode,
  type Source,
  checkDepth,
  checkKey,
  checkTwice,
  tooDeep,
  checkExact,
} from "./config-tree.ts";

type Yaml = typeof import("yaml");

/** Limit on tokens, each of which takes the parser some microseconds. A quoted text or a block is one. */
const MOST_LEXEMES = 30_000;

/** A few lines of aliases to aliases can stand for more values than memory holds. */
const MOST_ALIASED = 10_000;

const OPTIONS = {
  schema: "core",
  merge: false,
  // Tags of older YAML versions give a text another meaning than it seems to have.
  resolveKnownTags: false,
  // The reader checks this, and knows the line of the first.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: "silent",
} as const;

class YamlReader {
  readonly #yaml: Yaml;
  readonly #source: Source;
  readonly #targets: ReadonlyMap<Alias, Node>;
  /** Aliases that are being read, to find one inside itself. */
  readonly #open = new Set<Node>();
  #aliased = 0;

  constructor(yaml: Yaml, source: Source, document: Document) {
    this.#yaml = yaml;
    this.#source = source;
    this.#targets = aliasTargets(yaml, document.contents);
  }

  read(node: Node, path: ConfigPath): ConfigNode {
    const at = this.#at(node);
    checkDepth(path, at);
    if (this.#open.size > 0 && ++this.#aliased > MOST_ALIASED)
      throw new ConfigError(`Aliases stand for more than ${MOST_ALIASED} values. Write them out, or fewer.`, [], at);
    if (this.#yaml.isAlias(node)) return this.#readAlias(node, path, at);
    if (this.#yaml.isMap(node)) return this.#readMap(node, path, at);
    if (this.#yaml.isSeq(node)) return this.#readList(node.items as Node[], path, at);
    const { value, source } = node as Scalar<string | number | boolean | null>;
    if (typeof value === "number") checkExact(source ?? "", value, path, at);
    return { kind: "leaf", at, directory: this.#source.directory, value };
  }

  #readAlias(alias: Alias, path: ConfigPath, at: Position): ConfigNode {
    const target = this.#targets.get(alias);
    if (!target) throw new ConfigError(`There is no anchor \`&${alias.source}\` before this alias.`, path, at);
    if (this.#open.has(target)) throw new ConfigError(`The alias \`*${alias.source}\` is part of itself.`, path, at);
    this.#open.add(target);
    const node = this.read(target, path);
    this.#open.delete(target);
    return node;
  }

  #readList(items: readonly Node[], path: ConfigPath, at: Position): ListNode {
    const { directory } = this.#source;
    return { kind: "list", at, directory, items: items.map((item, i) => this.read(item, [...path, i])) };
  }

  #readMap(map: YAMLMap, path: ConfigPath, at: Position): ConfigNode {
    const entries = new Map<string, Entry>();
    for (const { key, value } of map.items as Pair<Node, Node | null>[]) {
      const place = this.#at(key);
      const name = this.#keyOf(key, path, place);
      const inner = [...path, name];
      checkKey(name, inner, place);
      checkTwice(entries.get(name)?.at, name, inner, place);
      const leaf: ConfigNode = { kind: "leaf", at: place, directory: this.#source.directory, value: null };
      entries.set(name, { at: place, value: value ? this.read(value, inner) : leaf });
    }
    return { kind: "map", at, directory: this.#source.directory, entries };
  }

  #keyOf(key: Node, path: ConfigPath, at: Position): string {
    if (!this.#yaml.isScalar(key) || key.value === null)
      throw new ConfigError("Expected a key that is a plain word or a string.", path, at);
    if (key.value === "<<")
      throw new ConfigError("Merge keys (`<<`) are not read. Use `extends`, or write the options out.", path, at);
    return typeof key.value === "string" ? key.value : key.source!;
  }

  #at(node: Node): Position {
    return this.#source.at(node.range?.[0] ?? 0);
  }
}

/** The node of each alias: the last one before it with that anchor. */
function aliasTargets(yaml: Yaml, contents: Node | null): Map<Alias, Node> {
  const targets = new Map<Alias, Node>();
  const anchors = new Map<string, Node>();
  const walk = (node: Node | null): void => {
    if (!node) return;
    if (yaml.isAlias(node)) {
      const target = anchors.get(node.source);
      if (target) targets.set(node, target);
      return;
    }
    const { anchor } = node as Scalar;
    if (anchor !== undefined) anchors.set(anchor, node);
    if (yaml.isSeq(node)) for (const item of node.items) walk(item as Node);
    if (yaml.isMap(node))
      for (const { key, value } of node.items as Pair<Node, Node | null>[]) [key, value].forEach(walk);
  };
  walk(contents);
  return targets;
}

/** @param path of the value in the config, for messages */
export async function parseYaml(source: Source, path: ConfigPath = []): Promise<ConfigNode> {
  const yaml = await import("yaml");
  const document = compose(yaml, source, path);
  const problems = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const [first] = problems;
  if (first) throw new ConfigError(`This is not valid YAML: ${sentence(first.message)}`, path, source.at(first.pos[0]));
  if (!document.contents) return { kind: "leaf", at: source.at(0), directory: source.directory, value: null };
  return new YamlReader(yaml, source, document).read(document.contents, path);
}

function checkLength(yaml: Yaml, source: Source, path: ConfigPath): void {
  let [count, offset] = [0, 0];
  const { DOCUMENT, FLOW_END, SCALAR } = yaml.CST;
  for (const lexeme of new yaml.Lexer().lex(source.text)) {
    // Markers of the lexer, which are not in the text.
    if (lexeme !== DOCUMENT && lexeme !== FLOW_END && lexeme !== SCALAR) offset += lexeme.length;
    if (++count <= MOST_LEXEMES) continue;
    throw new ConfigError(
      `The text has more than ${MOST_LEXEMES} words and marks; a config has hundreds. Keep data in files of its own.`,
      path,
      source.at(Math.min(offset, source.text.length)),
    );
  }
}

function compose(yaml: Yaml, source: Source, path: ConfigPath): Document {
  checkLength(yaml, source, path);
  const tokens = [...new yaml.Parser().parse(source.text)];
  const deep = tooDeepAt(tokens, DEEPEST);
  if (deep !== undefined) throw tooDeep(path, source.at(deep));
  const [first, second] = new yaml.Composer(OPTIONS).compose(tokens, true, source.text.length);
  if (second)
    throw new ConfigError("A config is one document; there is another after `---`.", path, source.at(second.range[0]));
  return first!;
}

/**
 * The offset of the first value whose path has more than `deepest` parts. Found without recursion: the parser after it would
 * overflow the stack, which can end the process.
 */
export function tooDeepAt(tokens: readonly CST.Token[], deepest: number): number | undefined {
  let level = tokens;
  // The documents themselves are above the root of a path.
  for (let depth = -1; level.length > 0; depth++) {
    if (depth > deepest) return level[0]!.offset;
    const collections = level.flatMap((token) => ("items" in token ? [token] : []));
    level = [
      ...level.flatMap((token) => (token.type === "document" && token.value ? [token.value] : [])),
      ...collections.flatMap(({ items }) => items.flatMap(({ key, value }) => [key, value])),
    ].filter((token) => token !== undefined && token !== null);
  }
  return undefined;
}
