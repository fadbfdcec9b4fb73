// What a space is made of: numbers in a range, and choices between options that may hold parameters of their own.
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is, show, type Json } from "../../core/options.ts";

/** Marks a parameter among the constants of a space. Registered, so that copies of the package recognise each other's. */
const PARAMETER: unique symbol = Symbol.for("hookline.tune.parameter");

/** A number in a range. To samplers all are alike: a coordinate from 0 to 1, on the scale that is searched. */
export interface NumberParameter {
  readonly [PARAMETER]: true;
  readonly kind: "uniform" | "logUniform" | "int";
  readonly low: number;
  readonly high: number;
  /** Searched on a logarithmic scale. */
  readonly log: boolean;
  /** From one value to the next; undefined where values are continuous. */
  readonly step: number | undefined;
  /** How many different values there are: Infinity where they are continuous. */
  readonly size: number;
  /** For messages: "a number from 0 to 1". */
  readonly expected: string;
  has(value: number): boolean;
  /** The nearest value in the range. */
  clamp(value: number): number;
  /** The middle of the part of [0, 1] that maps to this value. */
  toUnit(value: number): number;
  fromUnit(unit: number): number;
  /** The part of [0, 1] that maps to this value; of no width where values are continuous. */
  cell(value: number): readonly [from: number, to: number];
}

/** One of several options. An option may be a constant, a parameter, or an object that holds parameters. */
export interface Choice<T = unknown> {
  readonly [PARAMETER]: true;
  readonly kind: "choice";
  readonly options: readonly T[];
}

export type Parameter = NumberParameter | Choice;

/** What a space may hold: a parameter, a constant, or an object of these. */
export type SpaceValue = Parameter | Json | SpaceTree;

/** A space as a plain object, nested as the params will be. A key with undefined counts as absent. */
export interface SpaceTree {
  readonly [key: string]: SpaceValue | undefined;
}

/** The params of a space: `ParamsOf<typeof space>`. */
export type ParamsOf<T> = T extends NumberParameter
  ? number
  : T extends Choice<infer Option>
    ? ParamsOf<Option>
    : T extends readonly unknown[]
      ? T
      : T extends object
        ? { readonly [Key in keyof T]: ParamsOf<T[Key]> }
        : T;

export const isParameter = (value: unknown): value is Parameter =>
  typeof value === "object" && value !== null && (value as { [PARAMETER]?: unknown })[PARAMETER] === true;

/**
 * Any number in a range, on a linear scale.
 * @example { dropout: uniform(0, 0.5) }
 */
export function uniform(low: number, high: number): NumberParameter {
  checkRange("uniform", low, high);
  return continuous("uniform", low, high, {
    toUnit: (value) => (value - low) / (high - low),
    fromUnit: (unit) => low + unit * (high - low),
  });
}

/**
 * Any number in a range, on a logarithmic scale: for learning rates and the like.
 * @example { lr: logUniform(1e-4, 1e-1) }
 */
export function logUniform(low: number, high: number): NumberParameter {
  checkRange("logUniform", low, high);
  if (low <= 0) {
    throw new OptionError(`logUniform: Expected \`low\` to be a number > 0, got \`${low}\`: there is no log of it.`, {
      option: "low",
    });
  }
  const [from, width] = [Math.log(low), Math.log(high) - Math.log(low)];
  if (width === 0) {
    throw new OptionError(`logUniform: from ${low} to ${high} is too narrow to search. Write it as a constant.`, {
      option: "high",
    });
  }
  return continuous("logUniform", low, high, {
    toUnit: (value) => (Math.log(value) - from) / width,
    // The ends exactly: rounding would change them on the way through the logarithm.
    fromUnit: (unit) => (unit <= 0 ? low : unit >= 1 ? high : Math.exp(from + unit * width)),
  });
}

/** Both ends are finite, in order, and different. */
function checkRange(owner: string, low: number, high: number): void {
  checkOptions(owner, { low, high }, { low: is.finite, high: is.finite }, ["low", "high"]);
  checkOrder(owner, low, high);
  if (low === high) {
    throw new OptionError(`${owner}: from ${low} to ${high} there is nothing to search. Write ${low} as a constant.`, {
      option: "high",
    });
  }
  if (!Number.isFinite(high - low)) {
    throw new OptionError(`${owner}: from ${low} to ${high} is more than a number can span.`, { option: "high" });
  }
}

function checkOrder(owner: string, low: number, high: number): void {
  if (low > high) {
    throw new OptionError(`${owner}: \`low\` (${low}) is above \`high\` (${high}). Swap them.`, { option: "low" });
  }
}

/** Any number from `low` to `high`, on the scale of the two functions. */
function continuous(
  kind: "uniform" | "logUniform",
  low: number,
  high: number,
  { toUnit, fromUnit }: Pick<NumberParameter, "toUnit" | "fromUnit">,
): NumberParameter {
  const clamp = (value: number): number => Math.min(high, Math.max(low, value));
  return {
    [PARAMETER]: true,
    kind,
    low,
    high,
    log: kind === "logUniform",
    step: undefined,
    size: Infinity,
    expected: `a number from ${low} to ${high}`,
    has: (value) => value >= low && value <= high,
    clamp,
    toUnit,
    // Rounding may exceed an end.
    fromUnit: (unit) => clamp(fromUnit(unit)),
    cell: (value) => [toUnit(value), toUnit(value)],
  };
}

export interface IntOptions {
  /** From one value to the next, counted from `low`. Default 1. */
  readonly step?: number;
  /** Searched on a logarithmic scale: as many tries between 1 and 10 as between 10 and 100. Default false. */
  readonly log?: boolean;
}

/**
 * A whole number in a range, including both ends.
 * @example { layers: int(1, 4), width: int(32, 512, { step: 32 }), batch: int(8, 512, { log: true }) }
 */
export function int(low: number, high: number, options: IntOptions = {}): NumberParameter {
  const bounds = { low: is.whole, high: is.whole, step: is.wholeFrom(1), log: is.boolean };
  checkOptions("int", { ...options, low, high }, bounds, ["low", "high"]);
  const { step = 1, log = false } = options;
  checkOrder("int", low, high);
  if (!Number.isSafeInteger(high - low)) {
    throw new OptionError(`int: from ${low} to ${high} is more than whole numbers can span.`, { option: "high" });
  }
  if (log && low < 1) {
    throw new OptionError(`int: Expected \`low\` to be a whole number ≥ 1 with \`log\`, got \`${low}\`.`, {
      option: "low",
    });
  }
  if (log && step !== 1) {
    throw new OptionError("int: `step` and `log` do not go together. Leave one of them out.", { option: "step" });
  }
  const size = Math.floor((high - low) / step) + 1;
  const last = low + (size - 1) * step;
  const nearest = (value: number): number =>
    Math.min(last, Math.max(low, low + Math.round((value - low) / step) * step));
  const scale = log ? logScale(low, last) : linearScale(low, last, step);
  const cell = (value: number) => [scale.unit(value - step / 2), scale.unit(value + step / 2)] as const;
  return {
    [PARAMETER]: true,
    kind: "int",
    low,
    high: last,
    log,
    step,
    size,
    expected: `a whole number from ${low} to ${last}${step === 1 ? "" : ` in steps of ${step}`}`,
    has: (value) => value >= low && value <= last && (value - low) % step === 0,
    clamp: nearest,
    toUnit(value) {
      const [from, to] = cell(value);
      return (from + to) / 2;
    },
    fromUnit: (unit) => nearest(scale.value(unit)),
    cell,
  };
}

interface Scale {
  unit(value: number): number;
  value(unit: number): number;
}

/** Extended by half a step at both ends, which would otherwise be half as likely as the other values. */
function linearScale(low: number, high: number, step: number): Scale {
  const [from, width] = [low - step / 2, high - low + step];
  return { unit: (value) => (value - from) / width, value: (unit) => from + unit * width };
}

function logScale(low: number, high: number): Scale {
  const [from, width] = [Math.log(low - 0.5), Math.log(high + 0.5) - Math.log(low - 0.5)];
  return { unit: (value) => (Math.log(value) - from) / width, value: (unit) => Math.exp(from + unit * width) };
}

/**
 * One of several options. Options that are objects may hold parameters, which exist only where the option is chosen.
 * @example
 * {
 *   activation: choice(["relu", "gelu"]),
 *   optimizer: choice([{ use: "sgd", momentum: uniform(0, 0.99) }, { use: "adamw" }]),
 * }
 */
export function choice<const T extends SpaceValue>(options: readonly T[]): Choice<T> {
  if (!Array.isArray(options)) {
    throw new OptionError(`choice: Expected \`options\` to be an array, got ${show(options)}`, { option: "options" });
  }
  if (options.length === 0) {
    throw new OptionError("choice: `options` is empty: there is nothing to choose from.", { option: "options" });
  }
  return { [PARAMETER]: true, kind: "choice", options: [...options] as readonly T[] };
}
