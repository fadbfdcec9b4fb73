// `--set`: values from the command line, put into the tree. An entry of a list is named by its index or by what it uses.
import { show } from "../../core/options.ts";
import { didYouMean } from "../../core/names.ts";
import { ConfigError, type ConfigPath, type Position } from "./config-error.ts";
import { parseYaml } from "./parse-yaml.ts";
import {
  type ConfigNode,
  type ListNode,
  type MapNode,
  asComponent,
  checkDepth,
  checkKey,
  toPlain,
  useOf,
} from "./config-tree.ts";

/** The tree with every setting applied, in order. `directory` is the working directory of the command. */
export async function applySettings(
  tree: ConfigNode,
  settings: readonly string[],
  directory: string,
): Promise<ConfigNode> {
  let result = tree;
  for (const text of settings) {
    const at = { file: `--set ${text}` };
    const { path, value } = parseSetting(text, at);
    checkDepth(path, at);
    const node = await parseYaml({ text: value, directory, at: () => at }, path);
    result = putValue(result, path, node);
  }
  return result;
}

/** The tree with a value at a path; `value.at` is where an error says it was written. */
export const putValue = (tree: ConfigNode, path: readonly string[], value: ConfigNode): ConfigNode =>
  put(tree, path, value, []);

/** @param done the path so far, as it is in the tree: with indices of lists */
function put(node: ConfigNode | undefined, path: readonly string[], value: ConfigNode, done: ConfigPath): ConfigNode {
  const [first, ...others] = path;
  if (first === undefined) return value;
  if (node?.kind === "list") return putInList(node, first, others, value, done);
  const map = node ? asMap(node, first, value, done) : emptyMap(value);
  const { key, rest } = ownKey(map, first, others);
  const known = map.entries.get(key);
  // A single hook without a list around it may be named too.
  if (!known && rest.length > 0 && usesName(map, key)) return put(map, rest, value, done);
  const next = put(known?.value, rest, value, [...done, key]);
  // The options of the previous component do not apply to another one.
  const other = key === "use" && rest.length === 0 && known !== undefined && toPlain(known.value) !== toPlain(value);
  const at = known && rest.length > 0 ? known.at : value.at;
  return { ...map, entries: new Map([...(other ? [] : map.entries), [key, { at, value: next }]]) };
}

/** A key may contain dots, as in the space of a sweep: the longest existing key matches. */
function ownKey(map: MapNode, first: string, others: readonly string[]): { key: string; rest: readonly string[] } {
  for (let parts = others.length; parts > 0; parts--) {
    const key = [first, ...others.slice(0, parts)].join(".");
    if (map.entries.has(key)) return { key, rest: others.slice(parts) };
  }
  return { key: first, rest: others };
}

function asMap(node: ConfigNode, key: string, value: ConfigNode, done: ConfigPath): MapNode {
  const map = asComponent(node);
  if (map.kind === "map") return map;
  const found = toPlain(node);
  if (found === null) return emptyMap(node);
  throw new ConfigError(`Expected a map to set \`${key}\` in, found ${show(found)}.`, done, value.at);
}

const emptyMap = ({ at, directory }: ConfigNode): MapNode => ({ kind: "map", at, directory, entries: new Map() });

function putInList(
  list: ListNode,
  key: string,
  rest: readonly string[],
  value: ConfigNode,
  done: ConfigPath,
): ListNode {
  const index = /^\d+$/.test(key) ? Number(key) : indexOf(list, key, value, done);
  if (index > list.items.length)
    throw new ConfigError(`There is no entry ${key}: the list has ${list.items.length}.`, done, value.at);
  const items = [...list.items];
  items[index] = put(items[index], rest, value, [...done, index]);
  return { ...list, items };
}

function indexOf(list: ListNode, name: string, value: ConfigNode, done: ConfigPath): number {
  const found = list.items.flatMap((item, i) => (usesName(item, name) ? [i] : []));
  if (found.length === 1) return found[0]!;
  const names = list.items.map((item) => shortName(useOf(item)?.value ?? ""));
  const known = names.filter(Boolean);
  throw new ConfigError(
    found.length > 1
      ? `${found.length} entries use \`${name}\`. Say which one by its index: ${found.map((i) => [...done, i].join(".")).join(" or ")}.`
      : `No entry uses \`${name}\`.${didYouMean(name, known)} ${known.length > 0 ? `There are: ${known.join(", ")}.` : "The list names none."}`,
    done,
    value.at,
  );
}

/** `./hooks.ts#MyHook` can be named `MyHook` too. */
const shortName = (use: string): string => use.slice(use.indexOf("#") + 1);

function usesName(node: ConfigNode, name: string): boolean {
  const use = useOf(node)?.value;
  return use !== undefined && (use === name || shortName(use) === name);
}

interface Setting {
  readonly path: readonly string[];
  readonly value: string;
}

/** Parses `path=value`: dots separate the path, a backslash escapes the next character. */
function parseSetting(text: string, at: Position): Setting {
  const path: string[] = [];
  let key = "";
  let i = 0;
  for (; i < text.length && text[i] !== "="; i++) {
    if (text[i] === "\\") key += text[++i] ?? "";
    else if (text[i] !== ".") key += text[i];
    else {
      path.push(key);
      key = "";
    }
  }
  path.push(key);
  if (i >= text.length) throw new ConfigError("Expected `path=value`, as in `optimizer.lr=1e-3`.", [], at);
  path.forEach((name, depth) => checkKey(name, path.slice(0, depth + 1), at));
  if (path.includes("")) throw new ConfigError("A part of the path is empty.", path, at);
  if (path[0] === "extends")
    throw new ConfigError("`extends` belongs to a file and cannot be set. Name another config instead.", path, at);
  return { path, value: text.slice(i + 1) };
}
