import { jit } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { floats, ints, noise, put, putAll, read, startWasm } from "../../../tests/support/gradcheck.ts";
import type { HostArray } from "../../core/arrays.ts";
import type { Metric, Tensors } from "../../core/model.ts";
import { accuracy } from "./accuracy.ts";
import { perplexity } from "./entropy.ts";
import { mae, rmse } from "./errors.ts";

beforeAll(startWasm);

/** The metric over batches: sums from jitted updates, added up on the host as the trainer does. */
function over(metric: Metric, ...batches: [HostArray, HostArray][]): number {
  const sums: Record<string, number> = {};
  for (const [outputs, y] of batches) {
    const step = jit((tensors: Tensors) => metric.update(tensors.outputs!, { y: tensors.y! }));
    for (const [name, value] of Object.entries(step(putAll({ outputs, y })))) {
      expect(value.shape).toEqual([]);
      sums[name] = (sums[name] ?? 0) + read(value)[0]!;
    }
  }
  return metric.compute(sums);
}

describe("accuracy", () => {
  const logits = floats([3, 1, 2, 0, 5, 1, 1, 1, 1], [3, 3]);

  it("counts the largest logit, exactly over batches of different sizes", () => {
    expect(over(accuracy(), [logits, ints([0, 2, 0])])).toBeCloseTo(2 / 3);
    expect(over(accuracy(), [logits, ints([0, 1, 0])], [floats([1, 0], [1, 2]), ints([1])])).toBe(3 / 4);
  });

  it("lets the first of equal logits win, so that a constant model is not always right", () => {
    expect(over(accuracy(), [floats(Array(6).fill(0), [3, 2]), ints([0, 1, 1])])).toBeCloseTo(1 / 3);
  });

  it("takes the k largest", () => {
    expect(over(accuracy({ topK: 2 }), [logits, ints([2, 0, 1])])).toBeCloseTo(2 / 3);
    expect(over(accuracy({ topK: 3 }), [logits, ints([2, 0, 1])])).toBe(1);
  });

  it("leaves out ignored labels; labels that are no class are wrong", () => {
    expect(over(accuracy(), [logits, ints([0, -100, 0])])).toBe(1);
    expect(over(accuracy({ ignoreIndex: 2 }), [logits, ints([2, 1, 1])])).toBe(0.5);
    expect(over(accuracy({ topK: 3 }), [logits, ints([3, -1, 0])])).toBeCloseTo(1 / 3);
    expect(over(accuracy(), [logits, ints([-100, -100, -100])])).toBeNaN();
  });

  it("never counts NaN as right", () => {
    expect(over(accuracy(), [floats([Number.NaN, Number.NaN, 1, Number.NaN], [2, 2]), ints([0, 0])])).toBe(0);
  });

  it("handles tokens and explains what is wrong", () => {
    expect(over(accuracy(), [{ ...logits, shape: [1, 3, 3] }, ints([0, 1, 0], [1, 3])])).toBe(1);
    expect(() => accuracy().update(put(logits), {})).toThrow("accuracy: the batch has no `y`");
    expect(() => accuracy({ topk: 5 } as object)).toThrow("Did you mean `topK`?");
  });
});

it("mae and rmse are over all numbers", () => {
  const batches: [HostArray, HostArray][] = [
    [floats([1, 2]), floats([0, 0])],
    [floats([-3]), floats([1])],
  ];
  expect(over(mae(), ...batches)).toBeCloseTo(7 / 3, 6);
  expect(over(rmse(), ...batches)).toBeCloseTo(Math.sqrt(21 / 3), 6);
});

it("perplexity is e to the mean loss per token", () => {
  const logits = noise([3, 4]);
  const losses = [1, 3].map((label, row) => {
    const xs = logits.data.slice(row * 4, row * 4 + 4);
    return Math.log(xs.reduce((sum, x) => sum + Math.exp(x), 0)) - xs[label]!;
  });
  expect(over(perplexity(), [logits, ints([1, 3, -100])])).toBeCloseTo(Math.exp((losses[0]! + losses[1]!) / 2), 5);
  expect(over(perplexity(), [floats(Array(8).fill(0), [1, 8]), ints([3])])).toBeCloseTo(8, 4);
});
