// Space: what a study searches. It lists its parameters, checks params, and maps them to coordinates from 0 to 1 and back.
import { OptionError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Params } from "../types.ts";
import { compile, type Node, type SpaceParameter } from "./compile.ts";
import { match, type Values } from "./match.ts";
import type { SpaceTree } from "./parameter.ts";

/** Coordinates from 0 to 1, one for each parameter of the space; undefined where the parameter does not exist. */
export type UnitPoint = readonly (number | undefined)[];

/**
 * @example
 * const space = new Space({ lr: logUniform(1e-4, 1e-1), optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }]) });
 * space.parameters.map(({ path }) => path); // ["lr", "optimizer", "optimizer.momentum"]
 */
export class Space {
  /** All there are, a choice before what hangs on it. */
  readonly parameters: readonly SpaceParameter[];
  readonly #root: Node;

  constructor(tree: SpaceTree) {
    const { root, parameters } = compile(tree);
    this.#root = root;
    this.parameters = parameters;
  }

  /** The space of a tree; a space is its own. */
  static of(space: Space | SpaceTree): Space {
    return space instanceof Space ? space : new Space(space);
  }

  /** How the parameters nest, for those who walk them in turn. */
  get root(): Node {
    return this.#root;
  }

  /** Throws if the params are not of this space, and says where. */
  check(params: Params): void {
    this.values(params);
  }

  /** Each parameter's number, or the place of its option; undefined where it does not exist. */
  values(params: Params): readonly (number | undefined)[] {
    const values: Values = this.parameters.map(() => undefined);
    const mismatch = match(this.#root, params, "", values);
    if (mismatch === undefined) return values;
    throw new OptionError(`params: \`${mismatch.path}\` ${mismatch.message}`, { option: mismatch.path });
  }

  /** The params for these values. `value` is asked for the parameters that exist, a choice before what hangs on it. */
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

  /** Coordinates of parameters that do not exist are not looked at. */
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

/** The value (of a choice: the place of the option) at a coordinate from 0 to 1. */
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
