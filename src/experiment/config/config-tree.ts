// A config as a tree in which every value knows its position and the directory of its file, and as the document that the
// tree becomes. Keys are in Maps, so that no key of a file means anything to JavaScript.
import { ConfigError, type ConfigPath, type Position } from "./config-error.ts";
import type { Json } from "../../core/options.ts";

interface Written {
  /** Where the value begins. */
  readonly at: Position;
  /** Of the file it was written in. */
  readonly directory: string;
}

export interface Entry {
  /** Where the key is. */
  readonly at: Position;
  readonly value: ConfigNode;
}

export interface MapNode extends Written {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, Entry>;
}

export interface ListNode extends Written {
  readonly kind: "list";
  readonly items: readonly ConfigNode[];
}

/** A scalar, or a function or object of a TypeScript config, which is passed on as it is. */
export interface LeafNode extends Written {
  readonly kind: "leaf";
  readonly value: ConfigValue;
}

export type ConfigNode = MapNode | ListNode | LeafNode;

/** A text that a parser reads, and how an offset in it is shown. */
export interface Source {
  readonly text: string;
  readonly directory: string;
  at(offset: number): Position;
}

/** Deeper than any real config, and far below what overflows the stack. */
export const DEEPEST = 100;

export function checkDepth(path: ConfigPath, at: Position): void {
  if (path.length > DEEPEST) throw tooDeep(path, at);
}

/** Shows the beginning of the path only: all of it would be as long as the mistake is deep. */
export const tooDeep = (path: ConfigPath, at: Position): ConfigError =>
  new ConfigError(`Maps and lists are nested more than ${DEEPEST} deep.`, path.slice(0, 3), at);

/** The tree as plain objects. Its keys have been through `checkKey`. */
export function toPlain(node: ConfigNode): ConfigValue {
  if (node.kind === "leaf") return node.value;
  if (node.kind === "list") return node.items.map(toPlain);
  return Object.fromEntries([...node.entries].map(([key, { value }]) => [key, toPlain(value)]));
}

/** A bare string stands for a component without options. */
export function asComponent(node: ConfigNode): ConfigNode {
  if (node.kind !== "leaf" || typeof node.value !== "string") return node;
  return {
    kind: "map",
    at: node.at,
    directory: node.directory,
    entries: new Map([["use", { at: node.at, value: node }]]),
  };
}

interface Use extends LeafNode {
  readonly value: string;
}

/** What a component uses; undefined for anything else. */
export function useOf(node: ConfigNode): Use | undefined {
  if (node.kind === "list") return undefined;
  const use = node.kind === "leaf" ? node : node.entries.get("use")?.value;
  return use?.kind === "leaf" && typeof use.value === "string" ? (use as Use) : undefined;
}

interface Found {
  /** Of the key, or of an item of a list. */
  readonly at: Position;
  readonly node: ConfigNode;
}

/** The node at `path`, or the nearest one around it. */
export function nearestAt(root: ConfigNode, path: ConfigPath): Found {
  let found: Found = { at: root.at, node: root };
  for (const key of path) {
    const { node } = found;
    const item = node.kind === "list" ? node.items[Number(key)] : undefined;
    const next = node.kind === "map" ? node.entries.get(String(key)) : item && { at: item.at, value: item };
    if (!next) break;
    found = { at: next.at, node: next.value };
  }
  return found;
}

/** A config that has been read: its file, what it extends, the environment and the command line merged into one tree. */
export interface ConfigDocument {
  /** The file it was read from, as the user named it. */
  readonly file: string;
  /** Directory that module paths and data files are relative to, and may not leave: that of the nearest package.json, or of the file. */
  readonly project: string;
  /** Everything merged; environment variables filled in. */
  readonly value: Readonly<Record<string, ConfigValue>>;
  /** The same with `${NAME}` as written, for records: a secret from the environment is not written down. */
  readonly raw: Readonly<Record<string, ConfigValue>>;
  /** Where a value was written: of the key at `path`, or of the nearest thing around it. */
  locate(path: ConfigPath): Position | undefined;
  /** Directory of the file that the value at `path` was written in: its `./module.ts` is relative to this. */
  directoryOf(path: ConfigPath): string;
}

/** Plain data, or a function or object of a TypeScript config. */
export type ConfigValue = Json | object;

/** An error with a position in a config. */
export function configError(doc: ConfigDocument, path: ConfigPath, message: string, cause?: unknown): ConfigError {
  return new ConfigError(message, path, doc.locate(path), cause === undefined ? undefined : { cause });
}

/** Keys that would reach into JavaScript itself if an object were assigned by them. No option has such a name. */
const FORBIDDEN: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export const isForbidden = (name: string): boolean => FORBIDDEN.has(name);

/** @param key without quotes and escapes */
export function checkKey(key: string, path: ConfigPath, at: Position): void {
  if (!isForbidden(key)) return;
  throw new ConfigError(
    `\`${key}\` cannot be a key: it names a part of JavaScript's objects. Use another name.`,
    path,
    at,
  );
}

/** Rejects a key that the map has already: one of the two is a mistake. */
export function checkTwice(first: Position | undefined, key: string, path: ConfigPath, at: Position): void {
  if (first === undefined) return;
  const where = first.line === undefined ? "" : `; the first is in line ${first.line}`;
  throw new ConfigError(`\`${key}\` is written twice${where}. Remove one.`, path, at);
}

const INTEGER = /^[-+]?[0-9]+$/;

/** Rejects a whole number with more digits than a number keeps, such as a long id: it would silently become another. */
export function checkExact(text: string, value: number, path: ConfigPath, at: Position): void {
  if (!INTEGER.test(text)) return;
  // Hundreds of digits are Infinity, which BigInt rejects.
  if (Number.isFinite(value) && BigInt(text.replace("+", "")) === BigInt(value)) return;
  throw new ConfigError(
    `${text.length > 40 ? `${text.slice(0, 40)}…` : text} has more digits than a number keeps: it would be ${value}. Put it in quotes if it is a name.`,
    path,
    at,
  );
}
