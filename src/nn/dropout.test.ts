import { jit, numpy as np } from "@jax-js/jax";
import { beforeAll, expect, it } from "vitest";
import { context, gradcheckLayer, noise, put, read, startWasm } from "../../tests/support/gradcheck.ts";
import type { Tensor } from "../core/model.ts";
import { dropout } from "./dropout.ts";
import { keyStream, stepKey } from "./key.ts";
import { sequential } from "./sequential.ts";

beforeAll(startWasm);

const layer = dropout(0.25);
const run = jit((key: Tensor, x: Tensor) => {
  const ctx = { ...context(true), key: keyStream(key) };
  return [layer.apply({}, x.ref, ctx) as Tensor, layer.apply({}, x, ctx) as Tensor];
});
const masks = (step: number) =>
  run(put({ data: stepKey(0, step, 0), shape: [2] }), np.ones([100, 100])).map(read) as [number[], number[]];

it("drops a share p and scales up the rest", () => {
  const [y] = masks(1);
  const scaled = Math.fround(1 / 0.75);
  expect(new Set(y)).toEqual(new Set([0, scaled]));
  expect(y.filter((v) => v === 0).length / y.length).toBeCloseTo(0.25, 1);
});

it("is the same for the same step, and another for each step and layer", () => {
  const [a, b] = masks(1);
  expect(masks(1)[0]).toEqual(a);
  expect(masks(2)[0]).not.toEqual(a);
  expect(b).not.toEqual(a);
  // Independent masks agree on 0.25² + 0.75² of the positions.
  expect(a.filter((v, i) => v === b[i]).length / a.length).toBeCloseTo(0.625, 1);
});

it("does nothing in evaluation or with p = 0", () => {
  const x = noise([4]);
  expect(read(layer.apply({}, put(x), context(false)) as Tensor)).toEqual([...x.data]);
  expect(read(dropout(0).apply({}, put(x), context(true)) as Tensor)).toEqual([...x.data]);
});

it("has the gradients of finite differences, nested too", () => {
  expect(gradcheckLayer(sequential(dropout(0.5), dropout(0.5)), noise([3, 4]), { train: true })).toEqual([]);
});

it("checks p", () => {
  expect(() => dropout(1)).toThrow("dropout: Expected `p` to be a number from 0 up to 1 (exclusive), got `1` (number)");
});
