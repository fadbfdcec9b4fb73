// A forward pass as plain data: the primitives of jax-js that a model consists of, for any number of rows. It needs no
// code of the model, so a trained model can be applied, served and exported from its files alone.
import type { DType, TypedArray } from "../core/arrays.ts";

/** A size: a number, or a linear function of the number of rows, such as `n`, `4n` or `2n+1`. */
export type Dim = number | string;

export interface ArrayType {
  readonly shape: readonly Dim[];
  readonly dtype: DType;
}

export interface NamedArray extends ArrayType {
  readonly name: string;
}

/** An array that the model made while it was traced: its numbers, one number over and over, or counting along an axis. */
export type Constant = ArrayType &
  (
    | { readonly data: TypedArray }
    | { readonly fill: number }
    | { readonly axis: number; /** The first number. */ readonly start: number }
  );

/** An array by its number, or a scalar. */
export type Operand = number | { readonly value: number; readonly dtype: DType };

/** What a primitive takes besides arrays: sizes (which may depend on the rows), axes, names. */
export type Param = number | string | boolean | readonly Param[];
export type Params = Readonly<Record<string, Param>>;

/** One primitive. Its arrays have the types that it computes with: nothing is converted silently. */
export interface Equation {
  readonly op: string;
  readonly in: readonly Operand[];
  readonly params: Params;
  readonly out: readonly ArrayType[];
  /** The layer that it belongs to, as an index into `layers`. */
  readonly layer: number;
}

/**
 * Arrays are numbered: inputs, parameters, buffers, constants, then what the equations compute, in this order. The first
 * dimension of every output is the rows.
 */
export interface ForwardProgram {
  /** Fields of a batch. */
  readonly inputs: readonly NamedArray[];
  readonly params: readonly NamedArray[];
  /** Such as the running statistics of batch normalization. */
  readonly buffers: readonly NamedArray[];
  readonly constants: readonly Constant[];
  readonly equations: readonly Equation[];
  /** By name; a model that returns one array has one, named `output`. */
  readonly outputs: readonly { readonly name: string; readonly of: number }[];
  /** Whether the model returns one array, rather than several by name. */
  readonly single: boolean;
  /** Paths of layers such as `blocks.0.attn`; empty for code outside of any. */
  readonly layers: readonly string[];
}

/** The name of the output of a model that returns one array. */
export const OUTPUT = "output";

/** The type of each array, by its number. */
export function arrayTypes(program: ForwardProgram): ArrayType[] {
  const { inputs, params, buffers, constants, equations } = program;
  return [...inputs, ...params, ...buffers, ...constants, ...equations.flatMap(({ out }) => out)];
}

const DIM = /^(\d{0,9})n(?:([+-])(\d{1,15}))?$/;

/** `perRow` times the rows, plus `fixed`; undefined for what is no size. */
export function parseDim(dim: unknown): { readonly perRow: number; readonly fixed: number } | undefined {
  if (typeof dim === "number") {
    return Number.isSafeInteger(dim) ? { perRow: 0, fixed: dim } : undefined;
  }
  const found = typeof dim === "string" ? DIM.exec(dim) : null;
  if (!found) return undefined;
  const [, factor, sign, offset] = found;
  const fixed = Number(offset ?? 0);
  return { perRow: factor === "" ? 1 : Number(factor), fixed: sign === "-" ? -fixed : fixed };
}

export function makeDim(perRow: number, fixed: number): Dim {
  if (perRow === 0) return fixed;
  const factor = perRow === 1 ? "" : String(perRow);
  return `${factor}n${fixed === 0 ? "" : fixed > 0 ? `+${fixed}` : fixed}`;
}

/** The size that differs between traces with these rows; undefined if it is no whole a·rows + b with a ≥ 0. */
export function mergeSizes(sizes: readonly number[], rows: readonly number[]): Dim | undefined {
  const [first, second] = sizes as [number, number];
  const perRow = (second - first) / (rows[1]! - rows[0]!);
  const fixed = first - perRow * rows[0]!;
  const isLinear = Number.isSafeInteger(perRow) && perRow >= 0;
  return isLinear && sizes.every((n, i) => n === perRow * rows[i]! + fixed) ? makeDim(perRow, fixed) : undefined;
}

/** A size with this many rows. */
export function sizeAt(dim: Dim, rows: number): number {
  if (typeof dim === "number") return dim;
  const { perRow, fixed } = parseDim(dim)!;
  return perRow * rows + fixed;
}

/** The parameters of a primitive with this many rows: names and flags stay as they are. */
export function paramsAt(params: Params, rows: number): Record<string, unknown> {
  const at = (param: Param): unknown => {
    if (Array.isArray(param)) return param.map(at);
    return typeof param === "string" && DIM.test(param) ? sizeAt(param, rows) : param;
  };
  return Object.fromEntries(Object.entries(params).map(([name, param]) => [name, at(param)]));
}

/** The operations of a program: primitives of jax-js. Those of no forward pass are missing. */
export const OPERATIONS: ReadonlySet<string> = new Set(
  [
    "add mul min max idiv mod neg reciprocal floor ceil sin cos asin atan exp log erf erfc sqrt",
    "bit_count bit_combine bit_shift cast bitcast compare where",
    "transpose reshape flip shrink broadcast split pad concatenate pool pool_transpose",
    "reduce dot conv gather scatter sort argsort random_bits",
    "cholesky lu triangular_solve jacobi_eigh fft",
  ].flatMap((line) => line.split(" ")),
);
