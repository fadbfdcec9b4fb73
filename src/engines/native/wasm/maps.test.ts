// Every elementwise function of every type, in vectors and alone, computes what it says.
import { describe, expect, it, test } from "vitest";
import { type Numbers, runMap } from "../../../../tests/support/run-kernel.ts";
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

// The functions that wasm lacks, against those of JavaScript, as single numbers and in vectors.

const apply = (fn: MapOp, values: readonly number[]): number[] =>
  Array.from(runMap(fn, "float32", ["float32"], [Float32Array.from(values)]));

/** Evenly spread numbers, and as many whose sizes are. */
function sweep(from: number, to: number, count = 4001): number[] {
  const even = Array.from({ length: count }, (_, i) => from + ((to - from) * i) / (count - 1));
  const small = Array.from({ length: count }, (_, i) => 10 ** (-44 + (44 * i) / count));
  return [...even, ...small.filter((x) => x >= from && x <= to), ...small.map((x) => -x).filter((x) => x >= from)];
}

/** Abramowitz and Stegun are not exact enough to compare with: by the series and the continued fraction. */
function erf(x: number): number {
  if (x < 0) return -erf(-x);
  if (x > 6) return 1;
  if (x > 3) {
    let fraction = x;
    for (let n = 80; n > 0; n--) fraction = x + n / 2 / fraction;
    return 1 - Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
  }
  let [term, sum] = [x, x];
  for (let n = 1; n < 100; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

/** Of the exact result, and of 1 where the function is not small by its own nature. */
const functions: [
  fn: MapOp,
  exact: (x: number) => number,
  from: number,
  to: number,
  relative: number,
  absolute: number,
][] = [
  ["exp", Math.exp, -87.3, 88.72, 3e-7, 0],
  ["log", Math.log, 0, 3.4e38, 2e-7, 1e-7],
  ["log", Math.log, 0, 4, 2e-7, 1e-7],
  ["sin", Math.sin, -4000, 4000, 2e-7, 3e-7],
  ["cos", Math.cos, -4000, 4000, 2e-7, 3e-7],
  ["asin", Math.asin, -1, 1, 5e-7, 1e-44],
  ["atan", Math.atan, -50, 50, 3e-7, 1e-44],
  ["atan", Math.atan, -3e38, 3e38, 3e-7, 1e-44],
  ["erf", erf, -7, 7, 5e-7, 1e-38],
  ["erfc", (x) => 1 - erf(x), -7, 7, 3e-7, 5e-7],
  ["sqrt", Math.sqrt, 0, 3e38, 1e-7, 0],
  ["reciprocal", (x) => 1 / x, 1e-30, 1e30, 1e-7, 0],
];

it.each(functions)("%s", (fn, exact, from, to, relative, absolute) => {
  const values = sweep(from, to)
    .map(Math.fround)
    .filter((x) => x >= from && x <= to);
  const got = apply(fn, values);
  const wrong = values.filter((x, i) => {
    const expected = Math.fround(exact(x));
    return got[i] !== expected && !(Math.abs(got[i]! - expected) <= relative * Math.abs(expected) + absolute);
  });
  expect(wrong).toEqual([]);
});

describe("at the edges", () => {
  const edges: [MapOp, [x: number, expected: number][]][] = [
    [
      "exp",
      [
        [0, 1],
        [-0, 1],
        [Infinity, Infinity],
        [-Infinity, 0],
        [88.73, Infinity],
        [1e30, Infinity],
        [-104, 0],
        [-1e30, 0],
        [1e-45, 1],
      ],
    ],
    [
      "log",
      [
        [0, -Infinity],
        [-0, -Infinity],
        [1, 0],
        [Infinity, Infinity],
        [-Infinity, Number.NaN],
        [-1e-45, Number.NaN],
        [-3, Number.NaN],
        [1e-45, Math.log(1.401298464324817e-45)],
        [3.4028234663852886e38, Math.log(3.4028234663852886e38)],
      ],
    ],
    [
      "sin",
      [
        [0, 0],
        [Infinity, Number.NaN],
        [-Infinity, Number.NaN],
        [1e-45, 1e-45],
      ],
    ],
    [
      "cos",
      [
        [0, 1],
        [-0, 1],
        [Infinity, Number.NaN],
        [-Infinity, Number.NaN],
      ],
    ],
    [
      "asin",
      [
        [0, 0],
        [1, Math.PI / 2],
        [-1, -Math.PI / 2],
        [1.5, Number.NaN],
        [-1.5, Number.NaN],
        [Infinity, Number.NaN],
      ],
    ],
    [
      "atan",
      [
        [0, 0],
        [Infinity, Math.PI / 2],
        [-Infinity, -Math.PI / 2],
      ],
    ],
    [
      "erf",
      [
        [0, 0],
        [Infinity, 1],
        [-Infinity, -1],
        [1e30, 1],
        [-1e30, -1],
      ],
    ],
    [
      "erfc",
      [
        [0, 1],
        [Infinity, 0],
        [-Infinity, 2],
      ],
    ],
    [
      "sqrt",
      [
        [0, 0],
        [Infinity, Infinity],
        [-1, Number.NaN],
      ],
    ],
    [
      "reciprocal",
      [
        [0, Infinity],
        [-0, -Infinity],
        [Infinity, 0],
      ],
    ],
  ];
  it.each(edges)("%s", (fn, pairs) => {
    for (const [x, expected] of [...pairs, [Number.NaN, Number.NaN] as [number, number]]) {
      // As one number, and as the third of a vector.
      for (const got of [apply(fn, [x])[0]!, apply(fn, [0.5, 0.5, x, 0.5])[2]!]) {
        if (Number.isNaN(expected)) expect(got, `${fn}(${x})`).toBeNaN();
        else if (!Number.isFinite(expected)) expect(got, `${fn}(${x})`).toBe(expected);
        else
          expect(Math.abs(got - expected), `${fn}(${x}) = ${got}`).toBeLessThanOrEqual(
            2e-7 * Math.max(Math.abs(expected), 1),
          );
      }
    }
  });
});

it.each(["exp", "log", "sin", "cos", "asin", "atan", "erf", "erfc", "sqrt", "reciprocal"] as const)(
  "%s gives the same bits in a vector and alone, for any length",
  (fn) => {
    const values = [0.7, -0.3, 0.01, 0.99, -0.62, 0.5, 1e-20, 0.33, -0.9];
    const alone = values.map((value) => apply(fn, [value])[0]);
    for (let length = 1; length <= 9; length++)
      expect(apply(fn, values.slice(0, length))).toEqual(alone.slice(0, length));
  },
);
