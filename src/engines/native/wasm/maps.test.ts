// Every elementwise function of every type, in vectors and alone, computes what it says.
import { expect, test } from "vitest";
import { runMap, type Numbers } from "../../../../tests/support/run-kernel.ts";
import { runGraph } from "../../../../tests/support/run-graph.ts";
import { GraphBuilder } from "../../lower/builder.ts";
import type { DType, MapOp } from "../../lower/graph.ts";
import { whole } from "../../lower/view.ts";

const FLOATS = [0, 1.5, -2.5, 3, -0.5, 7.25, -8, 100, 0.001];
const WHOLES: Record<DType, number[]> = {
  float32: FLOATS,
  int32: [0, 1, -1, 7, -8, 2 ** 31 - 1, -(2 ** 31), 12, 5],
  uint32: [0, 1, 2 ** 32 - 1, 7, 8, 2 ** 31, 2 ** 31 - 1, 12, 5],
  bool: [0, 1, 1, 0, 1, 0, 0, 1, 1],
};
/** None of them 0, and small enough to shift by. */
const SECOND: Record<DType, number[]> = {
  float32: [1, -2, 0.5, 3, 3, -0.5, 2.5, -8, 4],
  int32: [3, 1, 2, 5, 7, 1, 3, 31, 2],
  uint32: [3, 1, 2, 5, 7, 1, 3, 31, 2],
  bool: [1, 1, 0, 0, 1, 1, 0, 1, 0],
};

const array = (dtype: DType, values: readonly number[]): Numbers =>
  dtype === "float32"
    ? Float32Array.from(values)
    : dtype === "uint32"
      ? Uint32Array.from(values)
      : Int32Array.from(values);

const NUMBERS: DType[] = ["float32", "int32", "uint32"];
const ALL: DType[] = [...NUMBERS, "bool"];
const INTS: DType[] = ["int32", "uint32"];
const cases: [fn: MapOp, types: DType[], args: number, to?: DType][] = [
  ["copy", ALL, 1],
  ["add", NUMBERS, 2],
  ["sub", NUMBERS, 2],
  ["mul", NUMBERS, 2],
  ["idiv", NUMBERS, 2],
  ["mod", NUMBERS, 2],
  ["min", NUMBERS, 2],
  ["max", NUMBERS, 2],
  ["neg", NUMBERS, 1],
  ["reciprocal", ["float32"], 1],
  ["floor", ["float32"], 1],
  ["ceil", ["float32"], 1],
  ["sqrt", ["float32"], 1],
  ["and", [...INTS, "bool"], 2],
  ["or", [...INTS, "bool"], 2],
  ["xor", [...INTS, "bool"], 2],
  ["shl", INTS, 2],
  ["shr", INTS, 2],
  ["bitcount", INTS, 1],
  ["less", ALL, 2, "bool"],
  ["lessEqual", ALL, 2, "bool"],
  ["equal", ALL, 2, "bool"],
  ["notEqual", ALL, 2, "bool"],
  ["cast", ALL, 1, "float32"],
  ["cast", ALL, 1, "int32"],
  ["cast", ALL, 1, "uint32"],
  ["cast", ALL, 1, "bool"],
  ["bitcast", INTS, 1, "float32"],
  ["bitcast", ["float32", "uint32"], 1, "int32"],
  ["bitcast", ["float32", "int32"], 1, "uint32"],
];
const each = cases.flatMap(([fn, types, count, to]) => types.map((from) => [fn, from, to ?? from, count] as const));

function expected(fn: MapOp, dtype: DType, from: readonly DType[], args: readonly Numbers[]): number[] {
  const graph = new GraphBuilder();
  const shape = [args[0]!.length];
  const inputs = from.map((type, i) => graph.input(i, shape, type));
  // Not by `map`, which would fold.
  const out = graph.node({
    op: "map",
    fn,
    args: inputs.map(({ node }) => ({ node, view: whole(shape) })),
    shape,
    dtype,
  });
  return runGraph({ nodes: graph.nodes, inputs: [], outputs: [out] }, args)[0]!;
}

test.each(each)("%s of %s to %s", (fn, from, to, count) => {
  for (const length of [1, 3, 4, 5, 9]) {
    const args = [WHOLES[from], SECOND[from]].slice(0, count).map((values) => array(from, values.slice(0, length)));
    const types = args.map(() => from);
    // A remainder of 0 has no sign here.
    const unsigned = (values: ArrayLike<number>): number[] => Array.from(values, (value) => value + 0);
    expect(unsigned(runMap(fn, to, types, args))).toEqual(unsigned(expected(fn, to, types, args)));
  }
});

test.each(ALL)("where, of %s", (dtype) => {
  for (const length of [1, 4, 9]) {
    const args = [
      array("bool", WHOLES.bool.slice(0, length)),
      array(dtype, WHOLES[dtype].slice(0, length)),
      array(dtype, SECOND[dtype].slice(0, length)),
    ];
    const types: DType[] = ["bool", dtype, dtype];
    expect(Array.from(runMap("where", dtype, types, args))).toEqual(expected("where", dtype, types, args));
  }
});

test("numbers that are no number, and too large to be whole", () => {
  const odd = Float32Array.of(Number.NaN, Infinity, -Infinity, 3e9, -3e9, 5e9, 1e30, -1);
  for (const to of ["int32", "uint32", "bool"] as const) {
    expect(Array.from(runMap("cast", to, ["float32"], [odd]))).toEqual(expected("cast", to, ["float32"], [odd]));
  }
  for (const fn of ["min", "max", "less", "equal", "notEqual", "lessEqual"] as const) {
    const to = fn === "min" || fn === "max" ? "float32" : "bool";
    const args = [odd, odd.toReversed()];
    expect(Array.from(runMap(fn, to, ["float32", "float32"], args))).toEqual(
      expected(fn, to, ["float32", "float32"], args),
    );
  }
});
