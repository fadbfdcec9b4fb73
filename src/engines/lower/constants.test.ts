// Tables that are one number or count upwards need no memory, and all others are kept as they are.
import { expect, it } from "vitest";
import { runGraph } from "../../../tests/support/run-graph.ts";
import { GraphBuilder } from "./builder.ts";
import { recoverConstant } from "./constants.ts";
import type { DType } from "./graph.ts";

type Data = Float32Array | Int32Array | Uint32Array;

function recover(data: Data, shape: number[], dtype: DType): { ops: string[]; values: number[] } {
  const graph = new GraphBuilder();
  const out = recoverConstant(graph, data, shape, dtype);
  const [values] = runGraph({ nodes: graph.nodes, inputs: [], outputs: [out] }, []);
  return { ops: graph.nodes.map(({ op }) => op), values: values! };
}

it.each<[string, Data, number[], DType, string[]]>([
  ["one number", Float32Array.of(2.5, 2.5, 2.5, 2.5), [2, 2], "float32", ["literal"]],
  ["one truth", Int32Array.of(1, 1), [2], "bool", ["literal"]],
  ["nothing", new Float32Array(0), [0, 3], "float32", ["literal"]],
  ["counting along rows", Float32Array.of(0, 1, 2, 0, 1, 2), [2, 3], "float32", ["iota"]],
  ["counting along columns", Int32Array.of(0, 0, 0, 1, 1, 1), [2, 3], "int32", ["iota"]],
  ["counting from five", Int32Array.of(5, 6, 7), [3], "int32", ["iota", "literal", "map"]],
  ["counting to the largest", Uint32Array.of(2 ** 32 - 3, 2 ** 32 - 2), [2], "uint32", ["iota", "literal", "map"]],
  ["a table", Float32Array.of(1, 2, 4), [3], "float32", ["constant"]],
  ["truths", Int32Array.of(0, 1), [2], "bool", ["constant"]],
  ["the zero that is below zero", Float32Array.of(-0, 1, 2), [3], "float32", ["constant"]],
  ["counting by tenths", Float32Array.of(0.1, 1.1, 2.1), [3], "float32", ["constant"]],
])("%s", (_, data, shape, dtype, ops) => {
  const recovered = recover(data, shape, dtype);
  expect(recovered.values).toEqual(Array.from(data));
  expect(recovered.ops).toEqual(ops);
});
