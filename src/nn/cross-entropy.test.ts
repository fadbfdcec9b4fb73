import { beforeAll, describe, expect, it } from "vitest";
import { checkLoss, evaluateLoss, floats, ints, noise, put, startWasm } from "../../tests/support/gradcheck.ts";
import type { HostArray } from "../core/arrays.ts";
import { crossEntropy } from "./cross-entropy.ts";

beforeAll(startWasm);

const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;

describe("crossEntropy", () => {
  const logits = noise([4, 3]);
  const rowLoss = (row: number, label: number, smoothing: number) => {
    const xs = Array.from(logits.data.slice(row * 3, row * 3 + 3));
    const logSum = Math.log(xs.reduce((sum, x) => sum + Math.exp(x), 0));
    return (1 - smoothing) * (logSum - xs[label]!) + smoothing * (logSum - mean(xs));
  };

  it.each([0, 0.1])("is the mean over labels, smoothing %f", (labelSmoothing) => {
    const labels = [2, 0, 1, 1];
    const expected = mean(labels.map((label, row) => rowLoss(row, label, labelSmoothing)));
    expect(checkLoss(crossEntropy({ labelSmoothing }), logits, ints(labels), expected)).toEqual([]);
    expect(
      checkLoss(crossEntropy({ labelSmoothing }), { ...logits, shape: [2, 2, 3] }, ints(labels, [2, 2]), expected),
    ).toEqual([]);
    expect(
      checkLoss(crossEntropy({ labelSmoothing }), logits, { data: Uint32Array.from(labels), shape: [4] }, expected),
    ).toEqual([]);
  });

  it.each([-100, 1, 255])("leaves out labels equal to ignoreIndex %i", (ignoreIndex) => {
    const labels = [2, ignoreIndex, 0, ignoreIndex];
    const expected = mean([rowLoss(0, 2, 0.1), rowLoss(2, 0, 0.1)]);
    expect(checkLoss(crossEntropy({ ignoreIndex, labelSmoothing: 0.1 }), logits, ints(labels), expected)).toEqual([]);
    const { gradient } = evaluateLoss(crossEntropy({ ignoreIndex }), logits, ints(labels));
    expect([...gradient.slice(3, 6), ...gradient.slice(9)]).toEqual(Array(6).fill(0));
  });

  it("is 0, with gradient 0, when every label is ignored", () => {
    const { value, gradient } = evaluateLoss(crossEntropy(), logits, ints([-100, -100, -100, -100]));
    expect(value).toBe(0);
    expect(gradient).toEqual(Array(12).fill(0));
  });

  it.each([3, -1, 1_000_000])("is NaN for label %i, which is no class", (label) => {
    expect(evaluateLoss(crossEntropy(), logits, ints([0, label, 1, 2])).value).toBeNaN();
    expect(evaluateLoss(crossEntropy({ labelSmoothing: 0.1 }), logits, ints([0, label, -100, 2])).value).toBeNaN();
  });

  it("stays finite and exact for huge logits", () => {
    const { value, gradient } = evaluateLoss(crossEntropy(), floats([1e4, 1e4 + 1, -1e30], [1, 3]), ints([0]));
    expect(value).toBeCloseTo(Math.log(1 + Math.E), 5);
    expect(gradient.every(Number.isFinite)).toBe(true);
  });

  it("explains wrong shapes, types and options", () => {
    const run = (y: HostArray) => crossEntropy()(put(logits), put(y), {});
    expect(() => run(ints([0, 1]))).toThrow(
      "crossEntropy: expected logits [..., classes] and labels [...], got [4, 3] and [2]",
    );
    expect(() => run(floats([0, 1, 2, 0]))).toThrow("crossEntropy: expected labels to be whole numbers");
    expect(() => crossEntropy()({ logits: put(logits), extra: put(logits) }, put(ints([0])), {})).toThrow(
      "crossEntropy: the model returns several outputs (logits, extra)",
    );
    expect(() => crossEntropy({ labelSmooting: 0.1 } as object)).toThrow("Did you mean `labelSmoothing`?");
    expect(() => crossEntropy({ labelSmoothing: 1 })).toThrow("Expected `labelSmoothing`");
  });
});
