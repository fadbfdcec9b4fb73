// Spaces as plain data: { lr: { use: logUniform, low: 1e-4, high: 1e-1 } } in a config, and in a study's journal.
import { OptionError } from "../../core/errors.ts";
import { type Json, checkOptions, is, show } from "../../core/options.ts";
import { nearest } from "../../core/names.ts";
import {
  type NumberParameter,
  type SpaceTree,
  type SpaceValue,
  choice,
  int,
  isParameter,
  logUniform,
  uniform,
} from "./parameters.ts";
import { MAX_DEPTH, type Node, isPlainObject } from "./compile.ts";
import { Space } from "./space.ts";
import { numberToJson } from "../../runs/exact-json.ts";

type Fields = Readonly<Record<string, unknown>>;
type Tree = Record<string, SpaceValue | undefined>;

/** Makes each kind of parameter from its fields, whose values the function checks. */
const KINDS: Readonly<Record<string, (fields: Fields, path: string) => SpaceValue>> = {
  uniform: (fields) => uniform(...bounds("uniform", fields)),
  logUniform: (fields) => logUniform(...bounds("logUniform", fields)),
  int(fields) {
    const { low, high, ...options } = fields;
    return int(low as number, high as number, options);
  },
  choice(fields, path) {
    checkOptions("choice", fields, { options: is.array }, ["options"]);
    const options = fields.options as readonly unknown[];
    return choice(options.map((option, i) => readValue(option, `${path}[${i}]`)));
  },
};

function bounds(owner: string, fields: Fields): [number, number] {
  checkOptions(owner, fields, { low: is.finite, high: is.finite }, ["low", "high"]);
  return [fields.low as number, fields.high as number];
}

/**
 * Reads a space from plain data. At the top, a key may be a path: `optimizer.lr`.
 * @example spaceFromConfig({ "optimizer.lr": { use: "logUniform", low: 1e-4, high: 1e-1 }, width: { use: "choice", options: [64, 128] } })
 */
export function spaceFromConfig(config: unknown): Space {
  if (!isPlainObject(config)) {
    throw new OptionError(`space: expected an object of parameters by name, got ${show(config)}`);
  }
  const tree: Tree = {};
  for (const [path, value] of Object.entries(config)) put(tree, path, readValue(value, path));
  return new Space(tree);
}

function readValue(value: unknown, path: string): SpaceValue {
  // Space accepts or rejects anything that is not an object, or is too deep.
  if (!isPlainObject(value) || path.split(".").length > MAX_DEPTH) return value as SpaceValue;
  const { use, ...fields } = value;
  if (typeof use === "string") {
    if (Object.hasOwn(KINDS, use)) return readParameter(use, fields, path);
    refuseTypo(use, fields, path);
  }
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, readValue(child, `${path}.${key}`)]));
}

function readParameter(use: string, fields: Fields, path: string): SpaceValue {
  try {
    return KINDS[use]!(fields, path);
  } catch (error) {
    if (!(error instanceof OptionError) || error.message.startsWith("space: ")) throw error;
    const option = error.option === undefined ? path : `${path}.${error.option}`;
    throw new OptionError(`space: \`${path}\`: ${error.message}`, { option, cause: error });
  }
}

/** Rejects a mistyped parameter: a component of the user's own may have any name, but not the fields of a parameter. */
function refuseTypo(use: string, fields: Fields, path: string): void {
  const meant = nearest(use, Object.keys(KINDS));
  const looksLikeOne = "low" in fields || "high" in fields || Array.isArray(fields.options);
  if (!looksLikeOne || (meant === undefined && !("low" in fields && "high" in fields))) return;
  const hint = meant === undefined ? "" : ` Did you mean \`${meant}\`?`;
  throw new OptionError(
    `space: \`${path}\`: there is no parameter \`${use}\`.${hint} Known: ${Object.keys(KINDS).join(", ")}.`,
    { option: `${path}.use` },
  );
}

/** Puts a value at a path such as `optimizer.lr`. */
function put(tree: Tree, path: string, value: SpaceValue): void {
  const keys = path.split(".");
  if (keys.some((key) => key === "" || key === "__proto__")) {
    throw new OptionError(`space: \`${path}\` is no path: names with dots between them, such as optimizer.lr.`, {
      option: path,
    });
  }
  let at = tree;
  for (const [i, key] of keys.slice(0, -1).entries()) {
    const there = Object.hasOwn(at, key) ? at[key] : (at[key] = {});
    if (!isTree(there)) throw clash(path, keys.slice(0, i + 1).join("."));
    at = there;
  }
  join(at, keys.at(-1)!, value, path);
}

/** A space may use both nested keys and paths, but not for the same value. */
function join(tree: Tree, key: string, value: SpaceValue, path: string): void {
  if (!Object.hasOwn(tree, key)) {
    tree[key] = value;
    return;
  }
  const there = tree[key];
  if (!isTree(there) || !isTree(value)) throw clash(path, path);
  for (const [inner, child] of Object.entries(value)) join(there, inner, child!, `${path}.${inner}`);
}

const isTree = (value: unknown): value is Tree => isPlainObject(value) && !isParameter(value);

const clash = (path: string, other: string): OptionError =>
  new OptionError(
    path === other
      ? `space: \`${path}\` is given twice, once as a path and once nested. Leave one out.`
      : `space: \`${path}\` lies within \`${other}\`, which is a value itself. Leave one out.`,
    { option: path },
  );

/** The space in the first line of a journal, for reading a study without the program that made it. */
export function spaceFromJournal(described: Json): Space {
  return new Space(treeOf(described as unknown as Node) as SpaceTree);
}

function treeOf(node: Node): SpaceValue {
  switch (node.kind) {
    case "constant":
      return node.value;
    case "number":
      return numberOf(node.entry.domain);
    case "object":
      return Object.fromEntries(node.entries.map(([key, child]) => [key, treeOf(child)]));
    default:
      return choice(node.options.map(treeOf));
  }
}

function numberOf({ kind, low, high, step, log }: NumberParameter): NumberParameter {
  if (kind === "uniform") return uniform(low, high);
  if (kind === "logUniform") return logUniform(low, high);
  return int(low, high, log ? { log } : { step: step ?? 1 });
}

/** A space as plain data, for a journal: its nodes without functions. */
export function describeSpace(value: unknown): Json {
  if (Array.isArray(value)) return value.map(describeSpace);
  if (typeof value !== "object" || value === null) return (value ?? null) as Json;
  const plain = Object.entries(value).filter(([, child]) => child !== undefined && typeof child !== "function");
  return Object.fromEntries(
    plain.map(([key, child]) => [key, typeof child === "number" ? numberToJson(child) : describeSpace(child)]),
  );
}
