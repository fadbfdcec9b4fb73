import { expect, test } from "vitest";
import { reference, relativeError, runOptimizer } from "../../tests/interop/optim-run.ts";
import { adamw } from "./adamw.ts";

test("follows the reference, with the weight decay outside the moments", async () => {
  const { param, slots } = await runOptimizer(adamw({ lr: 0.1, betas: [0.8, 0.95], eps: 1e-3, weightDecay: 0.2 }));
  const expected = reference(
    () => ({ m: 0, v: 0 }),
    (p, g, s, t) => {
      s.m = 0.8 * s.m + 0.2 * g;
      s.v = 0.95 * s.v + 0.05 * g * g;
      const step = ((0.1 / (1 - 0.8 ** t)) * s.m) / (Math.sqrt(s.v / (1 - 0.95 ** t)) + 1e-3);
      return p * (1 - 0.1 * 0.2) - step;
    },
  );
  expect(relativeError(param, expected)).toBeLessThan(1e-5);
  expect(Object.keys(slots)).toEqual(["exp_avg", "exp_avg_sq"]);
});

test("has PyTorch's defaults", () => {
  expect(adamw().defaults).toEqual({ lr: 1e-3, weightDecay: 0.01 });
});
