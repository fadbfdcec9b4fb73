import { beforeAll, expect, it } from "vitest";
import { checkLoss, evaluateLoss, floats, startWasm } from "../../tests/support/gradcheck.ts";
import { l1 } from "./l1.ts";

beforeAll(startWasm);

const x = floats([1, -2, 0.25, 3], [2, 2]);
const y = floats([0, 1, 0, 3.5], [2, 2]);

it("is the mean of magnitudes", () => {
  expect(checkLoss(l1(), x, y, (1 + 3 + 0.25 + 0.5) / 4)).toEqual([]);
});

it("has gradient 0 at an exact hit", () => {
  expect(evaluateLoss(l1(), y, y)).toEqual({ value: 0, gradient: [0, 0, 0, 0] });
});
