// What the reductions of a row come to: totals that its loops add to, in lanes or one by one, and that come together after.
import type { DType, ReduceOp } from "../../lower/graph.ts";
import type { Code, Local } from "./code.ts";
import { Lane } from "./lane.ts";
import { emitMap, neutral } from "./maps.ts";

/** How the numbers of a row are added up: in the lanes of a vector, in four sums, or in one. The first two are the same. */
export type Sums = "wide" | "four" | "one";

export interface Totals {
  /** Lanes in which there was a NaN, where the total passes it over. */
  readonly nans: Local | undefined;
  readonly single: Local;
  readonly wide: Local | undefined;
  readonly four: readonly Local[];
}

const kindOf = (dtype: DType): "f32" | "i32" => (dtype === "float32" ? "f32" : "i32");

/** Totals that begin with the neutral element. */
export function startTotals(code: Code, fn: ReduceOp, dtype: DType, sums: Sums): Totals {
  const total = (lane: Lane): Local => {
    lane.push(neutral(fn, dtype), kindOf(dtype));
    return code.keep(lane.type(dtype));
  };
  // The fast instruction for the larger of two passes NaN over: that there was one is noted beside it.
  const extreme = sums === "wide" && dtype === "float32" && (fn === "max" || fn === "min");
  return {
    nans: extreme ? code.splat(0, "i32").keep("v128") : undefined,
    single: total(new Lane(code, false)),
    wide: sums === "wide" ? total(new Lane(code, true)) : undefined,
    four: sums === "four" ? Array.from({ length: 4 }, () => total(new Lane(code, false))) : [],
  };
}

/** After the loops: the lanes of a total come together. */
export function joinTotals(code: Code, { single, wide, four, nans }: Totals, fn: ReduceOp, dtype: DType): Local {
  const kind = kindOf(dtype);
  const lane = new Lane(code, false);
  const lanes = wide ? [0, 1, 2, 3].map((i) => code.get(wide).extract(kind, i).keep(kind)) : four;
  const numbers = lanes.reduce((sum, each) => combine(lane, fn, sum, each, dtype), single);
  return nans ? lane.select(anyTrue(code, nans), Number.NaN, numbers, "f32") : numbers;
}

/** Truth values are combined as the numbers 0 and 1. */
export function combine(lane: Lane, fn: ReduceOp, a: Local, b: Local, dtype: DType): Local {
  const type = dtype === "bool" ? "int32" : dtype;
  return emitMap(lane, fn, [a, b], type, type);
}

const anyTrue = (code: Code, lanes: Local): Local => code.get(lanes).op("v128.any_true").keep("i32");
