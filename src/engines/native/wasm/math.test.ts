// The functions that wasm lacks, against those of JavaScript, as single numbers and in vectors.
import { describe, expect, it } from "vitest";
import { runMap } from "../../../../tests/support/run-kernel.ts";
import type { MapOp } from "../../lower/graph.ts";

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
