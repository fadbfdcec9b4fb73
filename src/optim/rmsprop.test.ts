import { expect, test } from "vitest";
import { reference, relativeError, runOptimizer } from "../../tests/interop/optim-run.ts";
import { rmsprop } from "./rmsprop.ts";

test.each([
  { centered: false, momentum: undefined },
  { centered: true, momentum: undefined },
  { centered: false, momentum: 0.9 },
  { centered: true, momentum: 0.5 },
])("follows the reference: %o", async ({ centered, momentum }) => {
  const optimizer = rmsprop({ lr: 0.02, alpha: 0.9, weightDecay: 0.01, centered, momentum });
  const { param, slots } = await runOptimizer(optimizer);
  const expected = reference(
    () => ({ square: 0, mean: 0, buffer: 0 }),
    (p, g, s) => {
      const d = g + 0.01 * p;
      s.square = 0.9 * s.square + 0.1 * d * d;
      s.mean = 0.9 * s.mean + 0.1 * d;
      const step = d / (Math.sqrt(s.square - (centered ? s.mean ** 2 : 0)) + 1e-8);
      s.buffer = (momentum ?? 0) * s.buffer + step;
      return p - 0.02 * s.buffer;
    },
  );
  expect(relativeError(param, expected)).toBeLessThan(1e-5);
  expect(Object.keys(slots)).toEqual(optimizer.slots);
});

test("keeps only the state it needs, under PyTorch's names", () => {
  expect(rmsprop()).toMatchObject({ defaults: { lr: 0.01, weightDecay: 0 }, slots: ["square_avg"] });
  expect(rmsprop().defaults.momentum).toBeUndefined();
  expect(rmsprop({ momentum: 0.9, centered: true }).slots).toEqual(["square_avg", "grad_avg", "momentum_buffer"]);
});
