// Rows of tables by their numbers.
import type { Dim } from "../program.ts";
import type { GraphBuilder, Value } from "./graph.ts";
import { wholes, type Lowering } from "./lowering.ts";

/** The dimensions of the indices stand at `outDim` of the result, in front of or among those that are not indexed. */
export function gather({ graph, args: [x, ...indices], params, dtype }: Lowering): Value {
  const axes = wholes(params.axis);
  const outDim = params.outDim as number;
  const rest = x!.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  const shared = sharedIndices(graph, indices);
  const rank = shared[0]!.shape.length;
  const table = graph.transpose(x!, [...axes, ...rest]);
  const shape = [...shared[0]!.shape, ...rest.map((i) => x!.shape[i]!)];
  const rows =
    axes.length === 1
      ? graph.node("Gather", [table, shared[0]!], shape, dtype, { axis: 0 })
      : graph.node("GatherND", [table, stacked(graph, shared)], shape, dtype);
  const index = Array.from({ length: rank }, (_, i) => i);
  const others = rest.map((_, i) => rank + i);
  return graph.transpose(rows, [...others.slice(0, outDim), ...index, ...others.slice(outDim)]);
}

/** Indices of one shape. */
function sharedIndices(graph: GraphBuilder, indices: readonly Value[]): Value[] {
  const rank = Math.max(...indices.map(({ shape }) => shape.length));
  const shape = Array.from({ length: rank }, (_, i) =>
    indices.reduce<Dim>((size, index) => {
      const own = index.shape[i - rank + index.shape.length] ?? 1;
      return own === 1 ? size : own;
    }, 1),
  );
  return indices.map((index) => graph.expand(index, shape));
}

/** Side by side in a new last dimension; GatherND takes int64. */
function stacked(graph: GraphBuilder, indices: readonly Value[]): Value {
  const parts = indices.map((index) => graph.reshape(graph.cast(index, "int64"), [...index.shape, 1]));
  const shape = [...indices[0]!.shape, indices.length];
  return graph.node("Concat", parts, shape, "int64", { axis: shape.length - 1 });
}
