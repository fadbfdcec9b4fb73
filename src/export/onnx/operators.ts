// What each operation of a program is in ONNX.
import type { Dim } from "../program.ts";
import { convolve } from "./convolution.ts";
import { contract } from "./contraction.ts";
import type { GraphBuilder, Value } from "./graph.ts";
import { gather } from "./gathering.ts";
import { wholes, type Lowering } from "./lowering.ts";
import { pad, shrink, flip, windows } from "./slicing.ts";

export interface Operator {
  /** The operators of ONNX that it becomes, for the documentation. */
  readonly onnx: readonly string[];
  readonly lower: (at: Lowering) => readonly Value[];
}

const one = (onnx: string | readonly string[], lower: (at: Lowering) => Value): Operator => ({
  onnx: typeof onnx === "string" ? [onnx] : onnx,
  lower: (at) => [lower(at)],
});

/** An operator of ONNX that takes the same arguments. */
const same = (op: string): Operator => one(op, ({ graph, args, shape, dtype }) => graph.node(op, args, shape, dtype));

/** For floating-point numbers alone; whole numbers are what they are. */
const rounding = (op: string): Operator =>
  one(op, ({ graph, args: [x], shape, dtype }) => (dtype === "float32" ? graph.node(op, [x!], shape, dtype) : x!));

/** Sums of truth values are alternatives, products are conjunctions. */
const logical = (op: string, ofBools: string): Operator =>
  one([op, ofBools], ({ graph, args, shape, dtype, out, fail }) => {
    if (out[0]!.dtype === "uint32") fail("arithmetic on uint32, which ONNX's runtimes do not have");
    return graph.node(dtype === "bool" ? ofBools : op, args, shape, dtype);
  });

const COMPARISONS: Readonly<Record<string, string>> = { less: "Less", less_equal: "LessOrEqual", equal: "Equal" };
const REDUCTIONS: Readonly<Record<string, string>> = {
  Add: "ReduceSum",
  Mul: "ReduceProd",
  Min: "ReduceMin",
  Max: "ReduceMax",
};
const REDUCTIONS_OF_BOOLS: typeof REDUCTIONS = { ...REDUCTIONS, Add: "ReduceMax", Mul: "ReduceMin" };
const BITS: Readonly<Record<string, readonly [ofWhole: string, ofBools: string]>> = {
  and: ["BitwiseAnd", "And"],
  or: ["BitwiseOr", "Or"],
  xor: ["BitwiseXor", "Xor"],
};

export const OPERATORS: Readonly<Record<string, Operator>> = {
  add: logical("Add", "Or"),
  mul: logical("Mul", "And"),
  min: logical("Min", "And"),
  max: logical("Max", "Or"),
  neg: one("Neg", ({ graph, args: [x], shape, dtype }) =>
    x!.negated ? x!.negated : { ...graph.node("Neg", [x!], shape, dtype), negated: x! },
  ),
  reciprocal: same("Reciprocal"),
  /** The quotient without its fraction. */
  idiv: one(["Div", "Floor", "Ceil", "Where"], ({ graph, args, shape, dtype }) => {
    const quotient = graph.node("Div", args, shape, dtype);
    return dtype === "float32" ? truncated(graph, quotient) : quotient;
  }),
  /** With the sign of the dividend. */
  mod: one("Mod", ({ graph, args, shape, dtype }) => graph.node("Mod", args, shape, dtype, { fmod: 1 })),
  floor: rounding("Floor"),
  ceil: rounding("Ceil"),
  sin: same("Sin"),
  cos: same("Cos"),
  asin: same("Asin"),
  atan: same("Atan"),
  exp: same("Exp"),
  log: same("Log"),
  sqrt: same("Sqrt"),
  erf: same("Erf"),
  erfc: one(["Erf", "Sub"], ({ graph, args, shape, dtype }) =>
    graph.node("Sub", [graph.scalar(1, dtype), graph.node("Erf", args, shape, dtype)], shape, dtype),
  ),
  cast: one("Cast", ({ graph, args: [x], dtype }) => graph.cast(x!, dtype)),
  compare: one(["Less", "LessOrEqual", "Equal", "Not"], ({ graph, args, params, shape }) => {
    // Truth values have no order in ONNX.
    const ordered = args.map((arg) => (arg.dtype === "bool" ? graph.cast(arg, "int32") : arg));
    if (params.op === "not_equal") {
      return graph.node("Not", [graph.node("Equal", ordered, shape, "bool")], shape, "bool");
    }
    return graph.node(COMPARISONS[params.op as string]!, ordered, shape, "bool");
  }),
  where: one("Where", ({ graph, args: [condition, ...values], shape, dtype }) => {
    if (dtype !== "bool") return graph.node("Where", [condition!, ...values], shape, dtype);
    const numbers = values.map((value) => graph.cast(value, "int32"));
    return graph.cast(graph.node("Where", [condition!, ...numbers], shape, "int32"), "bool");
  }),
  bit_combine: one(
    ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "And", "Or", "Xor"],
    ({ graph, args, params, shape, dtype }) => {
      const [ofWhole, ofBools] = BITS[params.op as string]!;
      return graph.node(dtype === "bool" ? ofBools : ofWhole, args, shape, dtype);
    },
  ),

  transpose: one("Transpose", ({ graph, args: [x], params }) => graph.transpose(x!, wholes(params.perm))),
  reshape: one("Reshape", ({ graph, args: [x], shape }) => graph.reshape(x!, shape)),
  broadcast: one(["Reshape", "Expand"], ({ graph, args: [x], params, shape }) => {
    const added = wholes(params.axis);
    let next = 0;
    const lifted = shape.map((_, i) => (added.includes(i) ? 1 : x!.shape[next++]!));
    return graph.expand(graph.reshape(x!, lifted), shape);
  }),
  flip: one("Slice", flip),
  shrink: one("Slice", shrink),
  split: {
    onnx: ["Split"],
    lower: ({ graph, args: [x], params, out, dtype }) => {
      const types = out.map(({ shape }) => ({ shape, dtype }));
      return graph.nodes("Split", [x!, graph.sizes(params.sizes as readonly Dim[])], types, {
        axis: params.axis as number,
      });
    },
  },
  pad: one("Pad", pad),
  concatenate: one("Concat", ({ graph, args, params, shape, dtype }) =>
    graph.node("Concat", args, shape, dtype, { axis: params.axis as number }),
  ),
  pool: one(["Slice", "Concat", "Reshape"], windows),

  reduce: one(["ReduceSum", "ReduceProd", "ReduceMin", "ReduceMax"], ({ graph, args: [x], params, shape, dtype }) => {
    const axes = wholes(params.axis);
    if (axes.length === 0) return x!;
    const op = (dtype === "bool" ? REDUCTIONS_OF_BOOLS : REDUCTIONS)[params.op as string]!;
    const numbers = dtype === "bool" ? graph.cast(x!, "int32") : x!;
    const reduced = graph.node(op, [numbers, graph.whole(axes)], shape, numbers.dtype, { keepdims: 0 });
    return graph.cast(reduced, dtype);
  }),
  dot: one(["Gemm", "MatMul", "Mul", "ReduceSum"], contract),
  conv: one("Conv", convolve),
  gather: one(["Gather", "GatherND"], gather),

  sort: one("TopK", (at) => sorted(at)[0]!),
  argsort: { onnx: ["TopK", "Cast"], lower: sorted },
};

/** Rounds towards zero. */
function truncated(graph: GraphBuilder, x: Value): Value {
  const { shape, dtype } = x;
  const below = graph.node("Less", [x, graph.scalar(0, dtype)], shape, "bool");
  return graph.node(
    "Where",
    [below, graph.node("Ceil", [x], shape, dtype), graph.node("Floor", [x], shape, dtype)],
    shape,
    dtype,
  );
}

/** Upwards along the last dimension, and where each number was; the first of equals comes first. */
function sorted({ graph, args: [x], shape, dtype, fail }: Lowering): Value[] {
  if (dtype === "bool") fail("a sort of truth values, which ONNX does not have");
  const outs = [
    { shape, dtype },
    { shape, dtype: "int64" as const },
  ];
  const attributes = { axis: shape.length - 1, largest: 0, sorted: 1 };
  const [values, order] = graph.nodes("TopK", [x!, graph.sizes([shape.at(-1)!])], outs, attributes);
  return [values!, graph.cast(order!, "int32")];
}
