import { describe, expect, test } from "vitest";
import { reference, relativeError, runOptimizer } from "../../tests/interop/optim-run.ts";
import { adam, adamw } from "./adam.ts";

describe("adam", () => {
  test.each([{ weightDecay: 0 }, { weightDecay: 0.1 }])("follows the reference: %o", async ({ weightDecay }) => {
    const { param, slots, traces } = await runOptimizer(adam({ lr: 0.1, weightDecay }));
    const expected = reference(
      () => ({ m: 0, v: 0 }),
      (p, g, s, t) => {
        const d = g + weightDecay * p;
        s.m = 0.9 * s.m + 0.1 * d;
        s.v = 0.999 * s.v + 0.001 * d * d;
        return p - ((0.1 / (1 - 0.9 ** t)) * s.m) / (Math.sqrt(s.v / (1 - 0.999 ** t)) + 1e-8);
      },
    );
    expect(relativeError(param, expected)).toBeLessThan(1e-5);
    expect(Object.keys(slots)).toEqual(["exp_avg", "exp_avg_sq"]);
    expect(traces).toBe(1);
  });

  test("has PyTorch's defaults and no momentum to assign", () => {
    expect(adam().defaults).toEqual({ lr: 1e-3, weightDecay: 0 });
    expect(() => adam({ groups: [{ params: "bias", momentum: 0.9 }] })).toThrow("unknown option `momentum`");
  });

  test("wrong options are errors", () => {
    expect(() => adam({ betas: [0.9, 1] })).toThrow("Expected `betas` to be two numbers from 0 up to 1 (exclusive)");
    expect(() => adam({ epsilon: 1e-6 } as object)).toThrow("unknown option `epsilon`");
  });
});

describe("adamw", () => {
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
});
