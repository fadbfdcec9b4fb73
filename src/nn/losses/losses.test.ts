import { numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { checkLoss, evaluateLoss, floats, ints, noise, put, startWasm } from "../../../tests/support/gradcheck.ts";
import { bceWithLogits } from "./binary.ts";
import { crossEntropy } from "./cross-entropy.ts";
import { huber, l1, mse } from "./regression.ts";
import type { HostArray } from "../../core/arrays.ts";

beforeAll(startWasm);

describe("mse", () => {
  const x = floats([1, -2, 0.25, 3], [2, 2]);
  const y = floats([0, 1, 0, 3.5], [2, 2]);

  it("is the mean of squares", () => {
    expect(checkLoss(mse(), x, y, (1 + 9 + 0.0625 + 0.25) / 4)).toEqual([]);
    expect(evaluateLoss(mse(), y, y)).toEqual({ value: 0, gradient: [0, 0, 0, 0] });
  });

  it("refuses shapes that would broadcast by accident", () => {
    expect(() => mse()(np.ones([4, 1]), np.ones([4]), {})).toThrow(
      "mse: outputs [4, 1] and targets [4] must have the same shape",
    );
  });
});

describe("l1", () => {
  const x = floats([1, -2, 0.25, 3], [2, 2]);
  const y = floats([0, 1, 0, 3.5], [2, 2]);

  it("is the mean of magnitudes", () => {
    expect(checkLoss(l1(), x, y, (1 + 3 + 0.25 + 0.5) / 4)).toEqual([]);
  });

  it("has gradient 0 at an exact hit", () => {
    expect(evaluateLoss(l1(), y, y)).toEqual({ value: 0, gradient: [0, 0, 0, 0] });
  });
});

describe("huber", () => {
  const x = floats([1, -2, 0.25, 3], [2, 2]);
  const y = floats([0, 1, 0, 3.5], [2, 2]);

  it.each([0.4, 1.5])("is a square up to delta %f and a line beyond", (delta) => {
    const each = [1, 3, 0.25, 0.5].map((d) => (d <= delta ? 0.5 * d * d : delta * (d - 0.5 * delta)));
    expect(checkLoss(huber({ delta }), x, y, each.reduce((a, b) => a + b) / 4)).toEqual([]);
  });

  it("has delta 1, and gradient 0 at an exact hit", () => {
    expect(checkLoss(huber(), x, y, (0.5 + 2.5 + 0.03125 + 0.125) / 4)).toEqual([]);
    expect(evaluateLoss(huber(), y, y).gradient).toEqual([0, 0, 0, 0]);
  });

  it("checks delta", () => {
    expect(() => huber({ delta: 0 })).toThrow("huber: Expected `delta` to be a number > 0, got `0` (number)");
  });
});

describe("crossEntropy", () => {
  const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;

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

describe("bceWithLogits", () => {
  const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;

  const x = floats([0.5, -2, 3, -0.1, 1.2, 0.3], [3, 2]);
  const y = floats([1, 0, 0.3, 1, 0, 1], [3, 2]);
  const logistic = (v: number) => 1 / (1 + Math.exp(-v));

  it.each([[undefined], [2.5], [[0.5, 3]]])("equals its definition, posWeight %o", (posWeight) => {
    const weight = (i: number) => [posWeight ?? 1].flat()[Array.isArray(posWeight) ? i % 2 : 0]!;
    const each = Array.from(x.data, (v, i) => {
      const t = y.data[i]!;
      return -(weight(i) * t * Math.log(logistic(v)) + (1 - t) * Math.log(1 - logistic(v)));
    });
    expect(checkLoss(bceWithLogits({ posWeight }), x, y, mean(each))).toEqual([]);
  });

  it("takes whole-number targets and huge logits", () => {
    const { value, gradient } = evaluateLoss(bceWithLogits(), floats([1e4, -1e4]), ints([0, 1]));
    expect(value).toBeCloseTo(1e4, 0);
    expect(gradient.every(Number.isFinite)).toBe(true);
  });

  it("refuses other shapes and weights", () => {
    expect(() => bceWithLogits()(np.ones([2]), np.ones([2, 1]), {})).toThrow(
      "bceWithLogits: outputs [2] and targets [2, 1]",
    );
    expect(() => bceWithLogits({ posWeight: -1 })).toThrow("Expected `posWeight` to be a number > 0");
  });
});
