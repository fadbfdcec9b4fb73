// Space: what a study searches. It lists its parameters, checks params, and maps them to coordinates from 0 to 1 and back.
import { OptionError } from "../../core/errors.ts";
import { type Json, show } from "../../core/options.ts";
import type { Params } from "../types.ts";
import { type Node, type SpaceParameter, compile, isPlainObject } from "./compile.ts";
import type { SpaceTree } from "./parameters.ts";
import { didYouMean } from "../../core/names.ts";

/** Coordinates from 0 to 1, one for each parameter of the space; undefined where the parameter does not exist. */
export type UnitPoint = readonly (number | undefined)[];

/**
 * @example
 * const space = new Space({ lr: logUniform(1e-4, 1e-1), optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }]) });
 * space.parameters.map(({ path }) => path); // ["lr", "optimizer", "optimizer.momentum"]
 */
export class Space {
  /** All parameters; a choice comes before those that depend on it. */
  readonly parameters: readonly SpaceParameter[];
  readonly #root: Node;

  constructor(tree: SpaceTree) {
    const { root, parameters } = compile(tree);
    this.#root = root;
    this.parameters = parameters;
  }

  /** Compiles a tree; returns a space unchanged. */
  static of(space: Space | SpaceTree): Space {
    return space instanceof Space ? space : new Space(space);
  }

  /** The tree of parameters and constants. */
  get root(): Node {
    return this.#root;
  }

  /** Throws if the params are not of this space. */
  check(params: Params): void {
    this.values(params);
  }

  /** For each parameter its number, or the index of its option; undefined where it does not exist. */
  values(params: Params): readonly (number | undefined)[] {
    const values: Values = this.parameters.map(() => undefined);
    const mismatch = match(this.#root, params, "", values);
    if (mismatch === undefined) return values;
    throw new OptionError(`params: \`${mismatch.path}\` ${mismatch.message}`, { option: mismatch.path });
  }

  /** The params for these values. `value` is called for the parameters that exist, in the order of `parameters`. */
  build(value: (parameter: SpaceParameter) => number): Params {
    return build(this.#root, value) as Params;
  }

  toUnit(params: Params): UnitPoint {
    return this.values(params).map((value, i) => {
      const parameter = this.parameters[i]!;
      if (value === undefined) return undefined;
      return parameter.kind === "choice" ? (value + 0.5) / parameter.labels.length : parameter.domain.toUnit(value);
    });
  }

  /** Coordinates of parameters that do not exist are ignored. */
  fromUnit(point: UnitPoint): Params {
    return this.build((parameter) => {
      const unit = point[parameter.index];
      if (unit === undefined || !(unit >= 0 && unit <= 1)) {
        throw new OptionError(
          `space: the coordinate of \`${parameter.path}\` is a number from 0 to 1, got \`${String(unit)}\``,
          { option: parameter.path },
        );
      }
      return valueAt(parameter, unit);
    });
  }
}

/** The value at a coordinate from 0 to 1; for a choice, the index of the option. */
export function valueAt(parameter: SpaceParameter, unit: number): number {
  if (parameter.kind !== "choice") return parameter.domain.fromUnit(unit);
  return Math.min(parameter.labels.length - 1, Math.floor(unit * parameter.labels.length));
}

/** Whether the parameter exists, given the values of those before it. */
export function exists({ condition }: SpaceParameter, values: readonly (number | undefined)[]): boolean {
  return condition === undefined || values[condition.index] === condition.option;
}

function build(node: Node, value: (parameter: SpaceParameter) => number): Json {
  switch (node.kind) {
    case "constant":
      return node.value;
    case "number":
      return value(node.entry);
    case "object":
      return Object.fromEntries(node.entries.map(([key, child]) => [key, build(child, value)]));
    default:
      return build(node.options[value(node.entry)]!, value);
  }
}

type Values = (number | undefined)[];

interface Mismatch {
  readonly path: string;
  readonly message: string;
}

/** Fills `values` from params; returns what does not fit the space. */
function match(node: Node, value: unknown, path: string, values: Values): Mismatch | undefined {
  switch (node.kind) {
    case "constant":
      if (same(node.value, value)) return undefined;
      return { path, message: `is \`${JSON.stringify(node.value)}\` in the space, got ${show(value)}` };
    case "number": {
      const { domain, index } = node.entry;
      if (typeof value !== "number" || !domain.has(value)) {
        return { path, message: `expected ${domain.expected}, got ${show(value)}` };
      }
      values[index] = value;
      return undefined;
    }
    case "object":
      return matchObject(node, value, path, values);
    default:
      return matchChoice(node, value, path, values);
  }
}

function matchObject(
  { entries }: Extract<Node, { kind: "object" }>,
  value: unknown,
  path: string,
  values: Values,
): Mismatch | undefined {
  if (!isPlainObject(value)) return { path, message: `expected an object, got ${show(value)}` };
  const join = (key: string): string => (path === "" ? key : `${path}.${key}`);
  for (const [key, child] of entries) {
    if (!Object.hasOwn(value, key)) return { path: join(key), message: "is missing" };
    const mismatch = match(child, value[key], join(key), values);
    if (mismatch !== undefined) return mismatch;
  }
  const known = entries.map(([key]) => key);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown === undefined) return undefined;
  return { path: join(unknown), message: `is not in the space.${didYouMean(unknown, known)}` };
}

/** Takes the first option that fits. */
function matchChoice(
  { entry, options }: Extract<Node, { kind: "choice" }>,
  value: unknown,
  path: string,
  values: Values,
): Mismatch | undefined {
  let deeper: Mismatch | undefined;
  for (const [i, option] of options.entries()) {
    const attempt: Values = [];
    const mismatch = match(option, value, path, attempt);
    if (mismatch === undefined) {
      values[entry.index] = i;
      for (const [index, found] of attempt.entries()) if (found !== undefined) values[index] = found;
      return undefined;
    }
    // If its constants fit, this option was probably meant, and one of its parameters is wrong.
    if (constantsFit(option, value)) deeper ??= mismatch;
  }
  return deeper ?? { path, message: `expected one of ${entry.labels.join(", ")}, got ${show(value)}` };
}

function constantsFit(option: Node, value: unknown): boolean {
  if (option.kind !== "object" || !isPlainObject(value)) return false;
  const constants = option.entries.filter(([, node]) => node.kind === "constant");
  return constants.length > 0 && constants.every(([key, node]) => match(node, value[key], "", []) === undefined);
}

function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  return a === b;
}
