import { jit, valueAndGrad } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import {
  applyLayer,
  context,
  floats,
  gradcheckLayer,
  maxError,
  noise,
  put,
  read,
  startWasm,
} from "../../tests/support/gradcheck.ts";
import type { Tensor } from "../core/model.ts";
import { gelu, leakyRelu, logSoftmax, relu, sigmoid, silu, softmax, tanh } from "./activations.ts";
import type { Layer } from "./layer.ts";

beforeAll(startWasm);

/** erf by its series, exact enough in float64 for |x| ≤ 4. */
const erf = (x: number): number => {
  let [term, sum] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
};
const logistic = (x: number) => 1 / (1 + Math.exp(-x));

const cases: [string, Layer, (x: number) => number][] = [
  ["relu", relu(), (x) => Math.max(0, x)],
  ["tanh", tanh(), Math.tanh],
  ["sigmoid", sigmoid(), logistic],
  ["silu", silu(), (x) => x * logistic(x)],
  ["gelu", gelu(), (x) => 0.5 * x * (1 + erf(x / Math.SQRT2))],
  [
    "gelu tanh",
    gelu({ approximate: "tanh" }),
    (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  ],
  ["leakyRelu", leakyRelu(), (x) => (x > 0 ? x : 0.01 * x)],
  ["leakyRelu 0.3", leakyRelu({ slope: 0.3 }), (x) => (x > 0 ? x : 0.3 * x)],
];

describe.each(cases)("%s", (_name, layer, f) => {
  const xs = floats([-4, -1.5, -0.7, -0.1, 0.1, 0.6, 1.9, 4]);

  it("equals its definition and has its derivative", () => {
    const y = read(applyLayer(layer, {}, xs));
    expect(maxError(y, Array.from(xs.data, f))).toBeLessThan(1e-5);
    expect(gradcheckLayer(layer, xs)).toEqual([]);
  });
});

it.each([tanh(), sigmoid(), silu(), gelu(), gelu({ approximate: "tanh" })])(
  "function %# and its derivative are numbers, however large the argument is",
  (layer) => {
    const program = jit(valueAndGrad((x: Tensor) => (layer.apply({}, x, context()) as Tensor).sum()));
    for (const x of [-1000, -89, -88, 88, 89, 1000]) {
      const [y, g] = program(put(floats([x])));
      expect([...read(y), ...read(g)].filter((value) => !Number.isFinite(value))).toEqual([]);
    }
  },
);

it("relu's derivative at 0 is 0, and NaN stays NaN", () => {
  const program = jit(valueAndGrad((x: Tensor) => (relu().apply({}, x, context()) as Tensor).sum()));
  const [, g] = program(put(floats([0, 1, -1])));
  expect(read(g)).toEqual([0, 1, 0]);
  expect(read(relu().apply({}, put(floats([Number.NaN])), context()) as Tensor)).toEqual([Number.NaN]);
});

describe("softmax", () => {
  const x = noise([3, 4]);
  const exps = Array.from(x.data, Math.exp);
  const total = (i: number, axis: number) =>
    exps
      .filter((_, j) => (axis === 0 ? j % 4 === i % 4 : Math.floor(j / 4) === Math.floor(i / 4)))
      .reduce((a, b) => a + b);

  it.each([0, -1])("sums to 1 along axis %i", (axis) => {
    const expected = exps.map((e, i) => e / total(i, axis));
    expect(maxError(read(applyLayer(softmax({ axis }), {}, x)), expected)).toBeLessThan(1e-6);
    expect(maxError(read(applyLayer(logSoftmax({ axis }), {}, x)), expected.map(Math.log))).toBeLessThan(1e-5);
    expect(gradcheckLayer(softmax({ axis }), x)).toEqual([]);
    expect(gradcheckLayer(logSoftmax({ axis }), x)).toEqual([]);
  });
});

it("checks options", () => {
  expect(() => gelu({ approximate: "erf" as "tanh" })).toThrow('Expected `approximate` to be one of "none", "tanh"');
  expect(() => leakyRelu({ slop: 1 } as object)).toThrow("Did you mean `slope`?");
  expect(() => softmax({ axis: 0.5 })).toThrow("Expected `axis` to be a whole number");
});
