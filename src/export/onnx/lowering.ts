// What an operation of a program is given when it becomes nodes of ONNX.
import type { ArrayType, Dim, Params } from "../program.ts";
import type { GraphBuilder, Value } from "./graph.ts";
import type { OnnxType } from "./model-proto.ts";

export interface Lowering {
  readonly graph: GraphBuilder;
  readonly args: readonly Value[];
  readonly params: Params;
  readonly out: readonly ArrayType[];
  /** The first result's shape and type; whole numbers without sign are int64 in ONNX. */
  readonly shape: readonly Dim[];
  readonly dtype: OnnxType;
  /** Throws an error that names the layer. */
  readonly fail: (why: string) => never;
}

/** A parameter that is a list of whole numbers, such as axes. */
export const wholes = (value: unknown): readonly number[] => value as readonly number[];
