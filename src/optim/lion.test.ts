import { expect, test } from "vitest";
import { reference, relativeError, runOptimizer } from "../../tests/interop/optim-run.ts";
import { lion } from "./lion.ts";

test("follows the reference", async () => {
  const { param, slots } = await runOptimizer(lion({ lr: 0.01, weightDecay: 0.1 }));
  const expected = reference(
    () => ({ m: 0 }),
    (p, g, s) => {
      const direction = Math.sign(0.9 * s.m + 0.1 * g);
      s.m = 0.99 * s.m + 0.01 * g;
      return p * (1 - 0.01 * 0.1) - 0.01 * direction;
    },
  );
  expect(relativeError(param, expected)).toBeLessThan(1e-5);
  expect(Object.keys(slots)).toEqual(["exp_avg"]);
});

test("has the paper's defaults", () => {
  expect(lion().defaults).toEqual({ lr: 1e-4, weightDecay: 0 });
});
