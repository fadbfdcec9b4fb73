// mlp: its layers, and where its widths come from.
import { expect, test } from "vitest";
import { initKey } from "./key.ts";
import type { Layer } from "./layer.ts";
import { mlp } from "./mlp.ts";

const shapes = (model: Layer): Record<string, readonly number[]> =>
  Object.fromEntries(Object.entries(model.init(initKey(0))).map(([name, { shape }]) => [name, shape]));

test("layers with an activation, and dropout where it is given", () => {
  expect(shapes(mlp({ hidden: [8, 4], dropout: 0.1, in: 3, out: 2 }))).toEqual({
    "0.weight": [8, 3],
    "0.bias": [8],
    "3.weight": [4, 8],
    "3.bias": [4],
    "6.weight": [2, 4],
    "6.bias": [2],
  });
  expect(shapes(mlp({ hidden: [], in: 3, out: 2 }))).toEqual({ "0.weight": [2, 3], "0.bias": [2] });
});

test("widths that are not given are those of the preprocessed data", () => {
  const setup = { preprocessor: { width: 5, outputWidth: 3 } };
  expect(shapes(mlp({ hidden: [4] })(setup))["0.weight"]).toEqual([4, 5]);
  expect(shapes(mlp({ hidden: [4], out: 1 })(setup))["2.weight"]).toEqual([1, 4]);
});

test("without them there is no model", () => {
  expect(() => mlp({ hidden: [4], out: 1 })({})).toThrow(
    "mlp: missing option `in`: without `preprocess` the data does not say it.",
  );
  expect(() => mlp({ hidden: [0], in: 1, out: 1 })).toThrow(
    "Expected `hidden` to be an array, each a whole number ≥ 1",
  );
});
