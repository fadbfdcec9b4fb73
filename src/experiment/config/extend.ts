// Reads a config file with all that it extends, and merges them.
import { show } from "../../core/options.ts";
import { builtin } from "../../platform/builtin.ts";
import { ConfigError, type ConfigPath, type Fail, failWithoutPlace } from "./config-error.ts";
import { fillText, type Environment } from "./environment.ts";
import { parseFile } from "./parse-file.ts";
import { insideProject } from "./project.ts";
import { type ConfigNode, type MapNode, asComponent, toPlain, useOf } from "./config-tree.ts";

/** Limits on the number of files in a config, and on how deep they extend each other. */
const MOST_FILES = 100;
const DEEPEST = 20;

interface Link {
  readonly path: string;
  /** As messages show it: relative to the working directory, like the file that the user named. */
  readonly shown: string;
}

export class ExtendingReader {
  readonly #project: string;
  readonly #env: Environment;
  #files = 0;

  constructor(project: string, env: Environment) {
    this.#project = project;
    this.#env = env;
  }

  /** @param chain the files that lead to this one by `extends`, outermost first */
  async read(link: Link, chain: readonly Link[] = [], fail: Fail = failWithoutPlace): Promise<MapNode> {
    const links = [...chain, link];
    const arrows = links.map(({ shown }) => shown).join(" → ");
    if (chain.some(({ path }) => this.#same(path, link.path))) throw fail(`These files extend each other: ${arrows}`);
    if (links.length > DEEPEST) throw fail(`More than ${DEEPEST} files extend one another: ${arrows}`);
    if (++this.#files > MOST_FILES) throw fail(`A config is made of at most ${MOST_FILES} files; this one is of more.`);
    const own = checkRoot(await parseFile(link.path, link.shown, this.#project, fail));
    const entries = new Map(own.entries);
    entries.delete("extends");
    let base: ConfigNode | undefined;
    for (const { node, path } of parentsOf(own)) {
      const parent = await this.read(this.#parent(node, path, link), links, failAt(node, path));
      base = base ? merge(base, parent) : parent;
    }
    const rest: MapNode = { ...own, entries };
    return base ? (merge(base, rest) as MapNode) : rest;
  }

  #parent(node: ConfigNode, path: ConfigPath, child: Link): Link {
    const { dirname, join } = builtin("A config", "node:path");
    const value = toPlain(node);
    const file = typeof value === "string" ? fillText(value, this.#env, path, node.at) : value;
    if (typeof file !== "string" || file === "")
      throw new ConfigError(`Expected the path of a config, or a list of such, got ${show(file)}.`, path, node.at);
    if (/^[/~]/.test(file))
      throw new ConfigError("Expected a path relative to this file, got an absolute one.", path, node.at);
    const target = insideProject(this.#project, file, { from: node.directory, fail: failAt(node, path) });
    return { path: target, shown: join(dirname(child.shown), file) };
  }

  #same(a: string, b: string): boolean {
    const { existsSync, realpathSync } = builtin("A config", "node:fs");
    return a === b || (existsSync(a) && existsSync(b) && realpathSync(a) === realpathSync(b));
  }
}

const failAt =
  (node: ConfigNode, path: ConfigPath): Fail =>
  (message, cause) =>
    new ConfigError(message, path, node.at, cause === undefined ? undefined : { cause });

function parentsOf(node: MapNode): { readonly node: ConfigNode; readonly path: ConfigPath }[] {
  const value = node.entries.get("extends")?.value;
  if (!value) return [];
  if (value.kind !== "list") return [{ node: value, path: ["extends"] }];
  return value.items.map((item, i) => ({ node: item, path: ["extends", i] }));
}

function checkRoot(node: ConfigNode): MapNode {
  if (node.kind === "map") return node;
  const value = toPlain(node);
  const found = value === null ? "the file is empty" : `got ${show(value)}`;
  throw new ConfigError(`Expected a map of options, as \`epochs: 5\` is one; ${found}.`, [], node.at);
}

/** The same text in another directory is another module. */
function sameUse(a: ConfigNode, b: ConfigNode): boolean {
  const [one, other] = [useOf(a), useOf(b)];
  if (!one || !other || one.value !== other.value) return false;
  return !/^\.{1,2}\//.test(one.value) || one.directory === other.directory;
}

/**
 * One config over another, without changing either: maps merge deeply; lists, and components with another `use`, replace.
 */
export function merge(base: ConfigNode, over: ConfigNode): ConfigNode {
  // A bare name of the same component keeps the options below it.
  if (over.kind === "leaf") return base.kind === "map" && sameUse(base, over) ? base : over;
  const under = asComponent(base);
  if (over.kind === "list" || under.kind !== "map") return over;
  if (over.entries.has("use") && !sameUse(under, over)) return over;
  const entries = new Map(under.entries);
  for (const [key, { at, value }] of over.entries) {
    const known = entries.get(key);
    entries.set(key, { at, value: known ? merge(known.value, value) : value });
  }
  return { ...over, entries };
}
