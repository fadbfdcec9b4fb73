// What a space is made of: numbers in a range, and choices between options that may hold parameters of their own.
import type { Json } from "../../core/json.ts";

/** Marks a parameter among the constants of a space. Registered, so that two copies of the package know each other's. */
export const PARAMETER: unique symbol = Symbol.for("hookline.tune.parameter");

/** A number in a range. Samplers see all of them alike, as a coordinate from 0 to 1 on the scale they are searched on. */
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
  /** The nearest value there is. */
  clamp(value: number): number;
  /** The middle of the part of [0, 1] that stands for this value. */
  toUnit(value: number): number;
  fromUnit(unit: number): number;
  /** The part of [0, 1] that stands for this value; of no width where values are continuous. */
  cell(value: number): readonly [from: number, to: number];
}

/** One of several options. An option may be a constant, a parameter, or an object that holds parameters. */
export interface Choice<T = unknown> {
  readonly [PARAMETER]: true;
  readonly kind: "choice";
  readonly options: readonly T[];
}

export type Parameter = NumberParameter | Choice;

/** What may stand in a space: a parameter, a constant, or an object of these. */
export type SpaceValue = Parameter | Json | SpaceTree;

/** A space as it is written: a plain object, nested as the params are to be. A key with undefined counts as absent. */
export interface SpaceTree {
  readonly [key: string]: SpaceValue | undefined;
}

/** The params that a space gives: `ParamsOf<typeof space>`. */
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
