// What is compiled to one wasm function: a loop over rows, and in it statements over a row.
//
// The outer loop runs over `outer`, one coordinate tuple after the other. For each, the statements run in order, each
// over its own `inner` loop. A row's intermediate results stay in scratch memory that fits the first cache, so a
// softmax or a layer norm is one pass over memory, forward and backward.
import type { DType, MapOp, ReduceOp } from "../lower/graph.ts";

/** Where a number lies: in elements of a buffer, with a stride for each outer and each inner dimension. */
export interface Access {
  /** Index into the buffers that the kernel is called with. */
  readonly buffer: number;
  readonly offset: number;
  readonly outer: readonly number[];
  readonly inner: readonly number[];
  /** Coordinates that are computed (gather, scatter): value × stride is added to the place. Already within bounds. */
  readonly at?: readonly { readonly value: number; readonly stride: number }[];
}

/** One value of a kernel, computed for each place of the loop it is used in. References are indices into `values`. */
export type KernelValue = { readonly dtype: DType } & (
  | { readonly kind: "load"; readonly from: Access }
  | { readonly kind: "literal"; readonly value: number }
  /** The coordinate of an outer or inner dimension, as int32. */
  | { readonly kind: "index"; readonly loop: "outer" | "inner"; readonly axis: number }
  | { readonly kind: "map"; readonly fn: MapOp; readonly args: readonly number[] }
  /** What an earlier `reduce` statement of this row came to. */
  | { readonly kind: "reduced"; readonly statement: number }
  /** What an earlier `keep` or `store` statement of this row computed at the same inner place. */
  | { readonly kind: "kept"; readonly statement: number }
);

/** Two values of one key are one. JSON, which would say the same more slowly, has no word for NaN and −0. */
export function keyOf(value: KernelValue): string {
  const { dtype, kind } = value;
  switch (kind) {
    case "load": {
      const { buffer, offset, outer, inner, at = [] } = value.from;
      const computed = at.map((each) => `${each.value}*${each.stride}`).join();
      return `load ${dtype} ${buffer}+${offset} ${outer.join()}|${inner.join()}|${computed}`;
    }
    case "literal":
      return `literal ${dtype} ${Object.is(value.value, -0) ? "-0" : value.value}`;
    case "index":
      return `index ${dtype} ${value.loop}${value.axis}`;
    case "map":
      return `${value.fn} ${dtype} ${value.args.join()}`;
    default:
      return `${kind} ${dtype} ${value.statement}`;
  }
}

export type Statement = { readonly inner: readonly number[]; readonly value: number } &
  /** Writes the value. */
  (
    | { readonly kind: "store"; readonly to: Access }
    /** Keeps the value of each place for later statements of the same row, which have the same `inner`. */
    | { readonly kind: "keep" }
    /** Reduces the value over the inner loop; written for this row when `to` is given (its inner strides are empty). */
    | { readonly kind: "reduce"; readonly fn: ReduceOp; readonly to?: Access }
    /**
     * Combines the value with what is there: reductions along outer dimensions (stride 0 in `to`), scatter. The buffer
     * is filled with the function's neutral element before the first row. With `stretches`, the rows are combined in so
     * many stretches of the first outer dimension, each for itself, and what they come to is combined in the end.
     */
    | { readonly kind: "accumulate"; readonly fn: ReduceOp; readonly to: Access; readonly stretches?: number }
  );

export interface Kernel {
  readonly name: string;
  /** How many buffers it is called with; each is an address in bytes. */
  readonly buffers: number;
  readonly outer: readonly number[];
  readonly values: readonly KernelValue[];
  readonly statements: readonly Statement[];
  /** Buffers that `accumulate` statements add to: filled with the neutral element first. */
  readonly clear?: readonly {
    readonly buffer: number;
    readonly length: number;
    readonly fn: ReduceOp;
    readonly dtype: DType;
  }[];
  /**
   * Its function does a range of the first dimension of this loop only: it takes where to begin, and how many places to
   * do, as two further parameters.
   */
  readonly ranged?: "outer" | "inner";
}
