// From a traced function to a graph: every primitive of jax-js becomes arithmetic, or a way of looking at it.
import { type Arg, type DType, type Graph, keepLive } from "./graph.ts";
import { GraphBuilder } from "./builder.ts";
import { PRIMITIVES } from "./primitives.ts";
import { Marks, recomputeLate } from "./recomputation.ts";
import type { Atom, Traced } from "./trace.ts";
import type { TypedArray } from "../../core/arrays.ts";
import { rowMajor } from "./view.ts";

/** A primitive that no engine of ours can compile. The program then runs on jax-js. */
export class UnsupportedPrimitive extends Error {
  readonly primitive: string;

  constructor(primitive: string, why = "") {
    super(`the primitive \`${primitive}\`${why && ` (${why})`} cannot be compiled`);
    this.primitive = primitive;
  }
}

const DTYPES: readonly string[] = ["float32", "int32", "uint32", "bool"] satisfies DType[];

export function lower({ inBinders, constants, equations, outs }: Traced, primitives = PRIMITIVES): Graph {
  const graph = new GraphBuilder();
  const values = new Map<Atom, Arg>();
  const valueOf = (atom: Atom): Arg =>
    "value" in atom ? graph.literal(Number(atom.value), atom.aval.dtype) : values.get(atom)!;

  for (const [i, binder] of inBinders.entries()) {
    const { shape, dtype } = binder.aval;
    const constant = constants[i];
    if (i < constants.length && !constant) continue;
    checkType(dtype, "an argument");
    values.set(
      binder,
      constant ? recoverConstant(graph, constant, shape, dtype) : graph.input(i - constants.length, shape, dtype),
    );
  }
  const marks = new Marks(graph, { equations, outs });
  for (const equation of equations) {
    const { primitive, inputs, params, outBinders } = equation;
    if (primitive === "stop_gradient") {
      values.set(outBinders[0]!, marks.stopGradient(equation, valueOf(inputs[0]!)));
      continue;
    }
    marks.pass();
    const lowered = primitives[primitive];
    if (!lowered) throw new UnsupportedPrimitive(primitive);
    for (const { aval } of outBinders) checkType(aval.dtype, primitive);
    const results = lowered(
      graph,
      inputs.map(valueOf),
      params,
      outBinders.map(({ aval }) => aval),
      inputs.map(({ aval }) => aval),
    );
    for (const [i, binder] of outBinders.entries()) values.set(binder, results[i]!);
  }
  const live = keepLive({
    nodes: graph.nodes,
    inputs: inBinders.slice(constants.length).map(({ aval }) => aval),
    outputs: outs.map(valueOf),
  });
  return recomputeLate(live);
}

function checkType(dtype: string, where: string): void {
  if (!DTYPES.includes(dtype)) throw new UnsupportedPrimitive(where, `of type ${dtype}`);
}

// Constants that a function made while it was traced come as opaque tables. Most are one number over and over, or count
// upwards: those need no memory.

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
export function countsAlong(data: TypedArray, shape: readonly number[], axis: number): boolean {
  const stride = rowMajor(shape)[axis]!;
  const size = shape[axis]!;
  return size > 1 && data.every((value, i) => Object.is(value, data[0]! + (Math.floor(i / stride) % size)));
}
