import { expect, test } from "vitest";
import { epochsIn, evalBatchesIn } from "./state.ts";

const loader = (length?: number) => ({ length, next: () => undefined });

test.each([
  ["of the options", { train: loader(), epochs: 3 }, undefined, 3],
  ["by the steps, which fit() may have changed", { train: loader(10), epochs: 3 }, 50, 5],
  ["of a number of steps", { train: loader(10) }, 25, 3],
  ["with several micro-batches a step", { train: loader(10), accumulate: 4, epochs: 2 }, 6, 2],
  ["of part of the data", { train: loader(10), limitBatches: 5 }, 20, 4],
  ["of several loaders: as the options say", { train: { a: loader(10) }, epochs: 2 }, 99, 2],
  ["that nobody knows", { train: loader() }, undefined, undefined],
])("epochs %s", (_, config, totalSteps, epochs) => {
  expect(epochsIn({ config, totalSteps })).toBe(epochs);
});

test("batches of an evaluation", () => {
  expect(evalBatchesIn({ eval: loader(4) }, "val")).toBe(4);
  expect(evalBatchesIn({ eval: loader(4), limitBatches: 3 }, "val")).toBe(3);
  expect(evalBatchesIn({ eval: loader(4), limitBatches: { eval: 2 } }, "val")).toBe(2);
  expect(evalBatchesIn({ eval: loader(4), limitBatches: { train: 2 } }, "val")).toBe(4);
  expect(evalBatchesIn({ eval: { a: loader(4), b: loader() } }, "a")).toBe(4);
  expect(evalBatchesIn({ eval: { a: loader(4), b: loader() }, limitBatches: 3 }, "b")).toBeUndefined();
  expect(evalBatchesIn({}, "val")).toBeUndefined();
});
