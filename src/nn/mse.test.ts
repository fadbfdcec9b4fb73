import { numpy as np } from "@jax-js/jax";
import { beforeAll, expect, it } from "vitest";
import { checkLoss, evaluateLoss, floats, startWasm } from "../../tests/support/gradcheck.ts";
import { mse } from "./mse.ts";

beforeAll(startWasm);

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
