import { beforeAll, expect, it } from "vitest";
import { checkLoss, evaluateLoss, floats, startWasm } from "../../tests/support/gradcheck.ts";
import { huber } from "./huber.ts";

beforeAll(startWasm);

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
