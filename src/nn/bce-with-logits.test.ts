import { numpy as np } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { checkLoss, evaluateLoss, floats, ints, startWasm } from "../../tests/support/gradcheck.ts";
import { bceWithLogits } from "./bce-with-logits.ts";

beforeAll(startWasm);

const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;

describe("bceWithLogits", () => {
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
