// Arithmetic that need not wait for the run: known numbers, neutral elements, a double negation.
import type { Arg, DType, MapOp } from "./graph.ts";
import type { GraphBuilder } from "./builder.ts";

const known = ({ node }: Arg): number | undefined => (node.op === "literal" ? node.value : undefined);
const is = (arg: Arg, value: number): boolean => Object.is(known(arg), value);

/** Rounded as the type rounds. */
function rounded(value: number, dtype: DType): number {
  if (dtype === "float32") return Math.fround(value);
  if (dtype === "uint32") return value >>> 0;
  return dtype === "int32" ? value | 0 : Number(value !== 0);
}

/** Of floats and whole numbers alike: add and mul of whole numbers wrap, which `rounded` does (`mul` by Math.imul). */
const OF_TWO: Partial<Record<MapOp, (a: number, b: number, dtype: DType) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b, dtype) => (dtype === "float32" ? a * b : Math.imul(a, b)),
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
};

const OF_ONE: Partial<Record<MapOp, (a: number) => number>> = {
  copy: (a) => a,
  neg: (a) => -a,
  reciprocal: (a) => 1 / a,
  sqrt: Math.sqrt,
};

/** What a map comes to when it is known now or is one of its arguments; undefined when it has to be computed. */
export function foldMap(
  graph: GraphBuilder,
  fn: MapOp,
  args: readonly Arg[],
  shape: readonly number[],
  dtype: DType,
): Arg | undefined {
  const values = args.map(known);
  const literal = (value: number): Arg => graph.literal(rounded(value, dtype), dtype, shape);
  const [a, b] = args as [Arg, Arg];
  if (args.length === 1 && values[0] !== undefined) {
    if (fn === "cast") return literal(truncated(values[0], a.node.dtype, dtype));
    if (OF_ONE[fn]) return literal(OF_ONE[fn](values[0]));
  }
  if (args.length === 2 && values[0] !== undefined && values[1] !== undefined && OF_TWO[fn] && dtype !== "bool") {
    return literal(OF_TWO[fn](values[0], values[1], dtype));
  }
  return identity(graph, fn, a, b, shape, dtype);
}

function identity(
  graph: GraphBuilder,
  fn: MapOp,
  a: Arg,
  b: Arg,
  shape: readonly number[],
  dtype: DType,
): Arg | undefined {
  if (fn === "mul" && dtype !== "bool") {
    if (is(a, 1)) return b;
    if (is(b, 1)) return a;
    if (is(a, -1)) return graph.map("neg", [b], shape, dtype);
    if (is(b, -1)) return graph.map("neg", [a], shape, dtype);
  }
  if (fn === "add" && dtype !== "bool") {
    // x + 0 is x but for −0, whose sign no one can have relied on here: jax-js folds it away too.
    if (is(a, 0)) return b;
    if (is(b, 0)) return a;
    const [left, right] = [negated(a), negated(b)];
    if (right) return graph.map("sub", [a, right], shape, dtype);
    if (left) return graph.map("sub", [b, left], shape, dtype);
  }
  if (fn === "sub" && is(b, 0)) return a;
  if (fn === "neg") return negated(a);
  if (fn === "cast" && a.node.dtype === dtype) return a;
  return undefined;
}

/** What it is the negative of, if it is one and seen as it is. */
function negated({ node, view }: Arg): Arg | undefined {
  if (node.op !== "map" || node.fn !== "neg" || view.moves.length > 0) return undefined;
  return node.args[0];
}

/** A cast of a known number: truncates fractions and clamps to the range of the type. */
function truncated(value: number, from: DType, to: DType): number {
  if (to === "float32" || to === "bool" || from !== "float32") return value;
  const [low, high] = to === "int32" ? [-(2 ** 31), 2 ** 31 - 1] : [0, 2 ** 32 - 1];
  return Number.isNaN(value) ? 0 : Math.min(Math.max(Math.trunc(value), low), high);
}
