// Constants that a function made while it was traced come as opaque tables. Most are one number over and over, or count
// upwards: those need no memory.
import type { TypedArray } from "../../core/arrays.ts";
import type { GraphBuilder } from "./builder.ts";
import type { Arg, DType } from "./graph.ts";
import { rowMajor } from "./view.ts";

export function recoverConstant(graph: GraphBuilder, data: TypedArray, shape: readonly number[], dtype: DType): Arg {
  const first = data[0];
  if (first === undefined || data.every((value) => Object.is(value, first)))
    return graph.literal(first ?? 0, dtype, shape);
  const axis = dtype === "bool" ? -1 : shape.findIndex((_, i) => countsAlong(data, shape, i));
  if (axis < 0) return graph.constant(data, shape, dtype);
  const iota = graph.iota(shape, axis, dtype);
  return first === 0 ? iota : graph.map("add", [iota, graph.literal(first, dtype)], shape, dtype);
}

/** Is every number its coordinate along the axis, plus the first number? */
function countsAlong(data: TypedArray, shape: readonly number[], axis: number): boolean {
  const stride = rowMajor(shape)[axis]!;
  const size = shape[axis]!;
  return size > 1 && data.every((value, i) => Object.is(value, data[0]! + (Math.floor(i / stride) % size)));
}
