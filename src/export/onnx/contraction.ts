// Products summed over the last dimension, as matrix products.
import { makeDim, parseDim, type Dim } from "../program.ts";
import { type GraphBuilder, type Value } from "./graph.ts";
import type { Lowering } from "./lowering.ts";

/** [… k] times [… k], summed over k; the other dimensions broadcast. */
export function contract({ graph, args, shape, dtype, out, fail }: Lowering): Value {
  if (out[0]!.dtype === "bool" || out[0]!.dtype === "uint32") fail(`a matrix product of ${out[0]!.dtype}`);
  const rank = shape.length;
  const [x, y] = args.map((arg) => lifted(graph, arg, rank + 1)) as [Value, Value];
  const inner = x.shape[rank]!;
  if (inner !== y.shape[rank]) return productAndSum(graph, x, y, shape);
  const axes = Array.from({ length: rank }, (_, i) => i);
  const batch = axes.filter((i) => x.shape[i] !== 1 && y.shape[i] !== 1);
  const ofY = axes.filter((i) => x.shape[i] === 1 && y.shape[i] !== 1);
  const ofX = axes.filter((i) => !batch.includes(i) && !ofY.includes(i));
  const sizes = (from: readonly Dim[], list: readonly number[]): Dim[] => list.map((i) => from[i]!);
  const front = sizes(shape, batch);
  const [rows, columns] = [product(sizes(shape, ofX)), product(sizes(shape, ofY))];
  // Two sizes that both grow with the rows have no product that does so evenly.
  if (rows === undefined || columns === undefined) return productAndSum(graph, x, y, shape);

  // Dimensions of the other side are 1 here: a permutation brings them together, and reshaping drops them.
  const left = graph.reshape(graph.transpose(x, [...batch, ...ofX, ...ofY, rank]), [...front, rows, inner]);
  const permuted = graph.transpose(y, [...batch, ...ofY, ...ofX, rank]);
  const right = graph.reshape(permuted, [...front, columns, inner]);
  const flat = multiply(graph, left, right, [...front, rows, columns], dtype === "float32" && front.length === 0);
  const order = [...batch, ...ofX, ...ofY];
  const apart = graph.reshape(flat, sizes(shape, order));
  return graph.transpose(
    apart,
    axes.map((axis) => order.indexOf(axis)),
  );
}

function multiply(graph: GraphBuilder, left: Value, right: Value, shape: readonly Dim[], isGemm: boolean): Value {
  if (isGemm) return graph.node("Gemm", [left, right], shape, left.dtype, { transB: 1 });
  const axes = right.shape.map((_, i) => i);
  const turned = graph.transpose(right, [...axes.slice(0, -2), axes.length - 1, axes.length - 2]);
  return graph.node("MatMul", [left, turned], shape, left.dtype);
}

function productAndSum(graph: GraphBuilder, x: Value, y: Value, shape: readonly Dim[]): Value {
  const wide = [...shape, x.shape.at(-1) === 1 ? y.shape.at(-1)! : x.shape.at(-1)!];
  const products = graph.node("Mul", [x, y], wide, x.dtype);
  return graph.node("ReduceSum", [products, graph.whole([shape.length])], shape, x.dtype, { keepdims: 0 });
}

/** With dimensions of 1 in front. */
const lifted = (graph: GraphBuilder, x: Value, rank: number): Value =>
  graph.reshape(x, [...Array.from({ length: rank - x.shape.length }, () => 1), ...x.shape]);

/** Undefined where more than one size depends on the rows. */
export function product(dims: readonly Dim[]): Dim | undefined {
  let [perRow, fixed] = [0, 1];
  for (const dim of dims) {
    const size = parseDim(dim)!;
    if (perRow !== 0 && size.perRow !== 0) return undefined;
    [perRow, fixed] = [perRow * size.fixed + fixed * size.perRow, fixed * size.fixed];
  }
  return makeDim(perRow, fixed);
}
