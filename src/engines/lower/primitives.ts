// What each primitive of jax-js is in a graph.
import type { GraphBuilder } from "./builder.ts";
import { type ConvParams, undilated, windowsAndKernels } from "./conv.ts";
import type { Arg, MapOp, ReduceOp } from "./graph.ts";
import { comparisonType, type Aval } from "./trace.ts";
import { sizeOf } from "../../core/arrays.ts";

type Params = Readonly<Record<string, unknown>>;
type Lower = (
  graph: GraphBuilder,
  args: readonly Arg[],
  params: Params,
  outs: readonly Aval[],
  ins: readonly Aval[],
) => readonly Arg[];
type LowerOne = (graph: GraphBuilder, args: readonly Arg[], params: Params, out: Aval) => Arg;

/** Most primitives have one result. */
const one =
  (lower: LowerOne): Lower =>
  (graph, args, params, outs) => [lower(graph, args, params, outs[0]!)];

/** jax-js lets arguments differ in type, and means the result's. */
const arithmetic = (fn: MapOp): Lower =>
  one((graph, args, _, { shape, dtype }) =>
    graph.map(
      fn,
      args.map((arg) => graph.cast(arg, dtype)),
      shape,
      dtype,
    ),
  );

/** Sums of truth values are alternatives, products are conjunctions. */
const logical = (fn: MapOp, ofBools: MapOp): Lower =>
  one((graph, args, _, { shape, dtype }) => {
    const same = args.map((arg) => graph.cast(arg, dtype));
    return graph.map(dtype === "bool" ? ofBools : fn, same, shape, dtype);
  });

const numbers = (value: unknown): readonly number[] => value as readonly number[];

const REDUCTIONS: Readonly<Record<string, ReduceOp>> = { Add: "add", Mul: "mul", Min: "min", Max: "max" };
const REDUCTIONS_OF_BOOLS: typeof REDUCTIONS = { Add: "max", Mul: "min", Min: "min", Max: "max" };
const COMPARISONS: Readonly<Record<string, MapOp>> = {
  less: "less",
  less_equal: "lessEqual",
  equal: "equal",
  not_equal: "notEqual",
};

export const PRIMITIVES: Readonly<Record<string, Lower>> = {
  add: logical("add", "or"),
  mul: logical("mul", "and"),
  min: logical("min", "and"),
  max: logical("max", "or"),
  idiv: arithmetic("idiv"),
  mod: arithmetic("mod"),
  neg: arithmetic("neg"),
  reciprocal: arithmetic("reciprocal"),
  floor: arithmetic("floor"),
  ceil: arithmetic("ceil"),
  sin: arithmetic("sin"),
  cos: arithmetic("cos"),
  asin: arithmetic("asin"),
  atan: arithmetic("atan"),
  exp: arithmetic("exp"),
  log: arithmetic("log"),
  erf: arithmetic("erf"),
  erfc: arithmetic("erfc"),
  sqrt: arithmetic("sqrt"),
  bit_count: arithmetic("bitcount"),
  bit_combine: (graph, args, params, ...rest) => arithmetic(params.op as MapOp)(graph, args, params, ...rest),
  /** To the right, jax-js fills with zeros, whatever the type. */
  bit_shift: one((graph, args, { op }, { shape, dtype }) => {
    const bits = args.map((arg) => {
      const same = graph.cast(arg, dtype);
      return dtype === "int32" ? graph.map("bitcast", [same], same.view.shape, "uint32") : same;
    });
    const shifted = graph.map(op as MapOp, bits, shape, "uint32");
    return dtype === "int32" ? graph.map("bitcast", [shifted], shape, "int32") : shifted;
  }),
  stop_gradient: one((_, [x]) => x!),
  cast: one((graph, [x], _, { dtype }) => graph.cast(x!, dtype)),
  bitcast: one((graph, [x], _, { shape, dtype }) =>
    x!.node.dtype === dtype ? x! : graph.map("bitcast", [x!], shape, dtype),
  ),
  compare(graph, args, { op }, [out], ins) {
    const dtype = comparisonType(ins);
    const same = args.map((arg) => graph.cast(arg, dtype));
    return [graph.map(COMPARISONS[op as string]!, same, out!.shape, "bool")];
  },
  where: one((graph, [condition, ...values], _, { shape, dtype }) =>
    graph.map("where", [condition!, ...values.map((value) => graph.cast(value, dtype))], shape, dtype),
  ),

  transpose: one((graph, [x], { perm }) => graph.move(x!, { kind: "permute", order: numbers(perm) })),
  reshape: one((graph, [x], { shape }) => graph.move(x!, { kind: "reshape", shape: numbers(shape) })),
  flip: one((graph, [x], { axis }) => graph.move(x!, { kind: "flip", axes: numbers(axis) })),
  shrink: one((graph, [x], { slice }) =>
    graph.move(x!, { kind: "slice", ranges: slice as readonly (readonly [number, number])[] }),
  ),
  /** `axis` are the new ones. */
  broadcast: one((graph, [x], { axis }, { shape }) => {
    const added = numbers(axis);
    let next = 0;
    const lifted = shape.map((_, i) => (added.includes(i) ? 1 : x!.view.shape[next++]!));
    return graph.broadcast(graph.move(x!, { kind: "reshape", shape: lifted }), shape);
  }),
  split(graph, [x], { axis, sizes }) {
    let from = 0;
    return numbers(sizes).map((size) => {
      const ranges = x!.view.shape.map((n, i): [number, number] => (i === axis ? [from, from + size] : [0, n]));
      from += size;
      return graph.move(x!, { kind: "slice", ranges });
    });
  },
  pool: one((graph, [x], { window, strides }) =>
    graph.move(x!, { kind: "windows", window: numbers(window), strides: numbers(strides) }),
  ),
  pool_transpose: one((graph, [x], { window, strides }, { shape, dtype }) =>
    graph.node({ op: "windowsAdd", args: [x!], window: numbers(window), strides: numbers(strides), shape, dtype }),
  ),

  pad: one((graph, [x], { width }, { shape, dtype }) => {
    const place = (width as readonly (readonly [number, number])[]).map(([before]) => before);
    return graph.node({ op: "assemble", args: [x!], places: [place], shape, dtype });
  }),
  concatenate: one((graph, args, { axis }, { shape, dtype }) => {
    let at = 0;
    const places = args.map(({ view }) => {
      const place = shape.map((_, i) => (i === axis ? at : 0));
      at += view.shape[axis as number]!;
      return place;
    });
    return graph.node({ op: "assemble", args: args.map((arg) => graph.cast(arg, dtype)), places, shape, dtype });
  }),

  reduce: one((graph, [x], { op, axis }, { shape, dtype }) => {
    const axes = numbers(axis);
    const fn = (dtype === "bool" ? REDUCTIONS_OF_BOOLS : REDUCTIONS)[op as string]!;
    return axes.length === 0 ? x! : graph.node({ op: "reduce", fn, args: [x!], axes, shape, dtype });
  }),
  dot: one(product),
  conv: one((graph, [x, y], params, out) =>
    product(
      graph,
      windowsAndKernels(graph, [graph.cast(x!, out.dtype), graph.cast(y!, out.dtype)], params as never),
      params,
      out,
    ),
  ),

  gather: one((graph, [x, ...indices], { axis, outDim }, { shape, dtype }) => {
    const axes = numbers(axis);
    const table = axesFirst(graph, x!, axes);
    const index = sharedIndex(graph, indices);
    const rest = table.view.shape.slice(axes.length);
    const rows = graph.node({ op: "gather", args: [table, ...index.args], shape: [...index.shape, ...rest], dtype });
    const order = axesOfRows(index.shape.length, outDim as number, shape.length);
    return graph.move(rows, { kind: "permute", order });
  }),
  scatter: one((graph, [updates, ...indices], params, { shape, dtype }) => {
    const axes = numbers(params.axis);
    const index = sharedIndex(graph, indices);
    // As `gather` would have returned them, with the dimensions of the index in front.
    const order = inverse(axesOfRows(index.shape.length, params.outDim as number, updates!.view.shape.length));
    const rows = graph.move(updates!, { kind: "permute", order });
    const front = [...axes, ...shape.map((_, i) => i).filter((i) => !axes.includes(i))];
    const added = graph.node({
      op: "scatter",
      adds: params.op === "add",
      args: [rows, ...index.args],
      shape: front.map((i) => shape[i]!),
      dtype,
    });
    return graph.move(added, { kind: "permute", order: inverse(front) });
  }),

  sort: one((graph, [x], _, { shape, dtype }) => graph.node({ op: "sort", args: [graph.copy(x!)], shape, dtype })),
  argsort: (graph, [x], _, [sorted, order]) => [
    graph.node({ op: "sort", args: [graph.copy(x!)], shape: sorted!.shape, dtype: sorted!.dtype }),
    graph.node({ op: "argsort", args: [graph.copy(x!)], shape: order!.shape, dtype: order!.dtype }),
  ],
  random_bits: one((graph, [k0, k1], { mode }, { shape, dtype }) => {
    const keyShape = k0!.view.shape;
    const trailing = shape.slice(keyShape.length);
    const lift = (key: Arg): Arg =>
      graph.broadcast(graph.move(key, { kind: "reshape", shape: [...keyShape, ...trailing.map(() => 1)] }), shape);
    const period = Math.max(sizeOf(trailing), 1);
    return graph.node({
      op: "randomBits",
      args: [lift(k0!), lift(k1!)],
      mode: mode as "xor" | 0 | 1,
      period,
      shape,
      dtype,
    });
  }),
};

/** For engines with a convolution of their own: it stays one node. */
export const WHOLE_CONVOLUTIONS: typeof PRIMITIVES = {
  ...PRIMITIVES,
  conv: one((graph, args, params, { shape, dtype }) => {
    const [image, kernel] = args.map((arg) => graph.cast(arg, dtype)) as [Arg, Arg];
    return graph.node({ op: "conv", args: [image, kernel], params: params as never, shape, dtype });
  }),
};

/** For engines with convolutions of their own for some: those stay one node, the others are products. */
export const someConvolutions = (kindOf: ConvolutionKind): typeof PRIMITIVES => ({
  ...PRIMITIVES,
  conv(graph, args, params, outs, ins) {
    const { shape, dtype } = outs[0]!;
    const [image, kernel] = args.map((arg) => graph.cast(arg, dtype)) as [Arg, Arg];
    const given = params as unknown as ConvParams;
    const kind = dtype === "float32" ? kindOf(kernel, given, shape) : undefined;
    if (!kind) return PRIMITIVES.conv!(graph, args, params, outs, ins);
    return [undilated(graph, [image, kernel], given, shape, kind === "crops")];
  },
});

/** Whether a convolution stays one node, and whether that reads parts of images by itself (negative padding). */
type ConvolutionKind = (kernel: Arg, params: ConvParams, shape: readonly number[]) => "whole" | "crops" | undefined;

function product(graph: GraphBuilder, args: readonly Arg[], _: Params, { shape, dtype }: Aval): Arg {
  const length = Math.max(...args.map(({ view }) => view.shape.at(-1) ?? 1));
  const [x, y] = args.map((arg) => graph.broadcast(graph.cast(arg, dtype), [...shape, length])) as [Arg, Arg];
  return graph.node({ op: "dot", args: [x, y], shape, dtype });
}

function axesFirst(graph: GraphBuilder, x: Arg, axes: readonly number[]): Arg {
  const others = x.view.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  return graph.move(x, { kind: "permute", order: [...axes, ...others] });
}

/** Indices broadcast to one shape, as int32. */
function sharedIndex(graph: GraphBuilder, indices: readonly Arg[]): { args: Arg[]; shape: number[] } {
  const rank = Math.max(...indices.map(({ view }) => view.shape.length));
  const shape = Array.from({ length: rank }, (_, i) =>
    indices.reduce((size, { view }) => {
      const n = view.shape[i - rank + view.shape.length] ?? 1;
      return n === 1 ? size : n;
    }, 1),
  );
  return { args: indices.map((arg) => graph.broadcast(graph.cast(arg, "int32"), shape)), shape };
}

/** For each dimension of the result: which of [index…, rest…] it is, when the index stands at `outDim`. */
function axesOfRows(indexRank: number, outDim: number, rank: number): number[] {
  const index = Array.from({ length: indexRank }, (_, i) => i);
  const rest = Array.from({ length: rank - indexRank }, (_, i) => indexRank + i);
  return [...rest.slice(0, outDim), ...index, ...rest.slice(outDim)];
}

function inverse(order: readonly number[]): number[] {
  const back = Array.from(order, () => 0);
  for (const [i, axis] of order.entries()) back[axis] = i;
  return back;
}
