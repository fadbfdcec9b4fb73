import { expect, test } from "vitest";
import { reference, relativeError, runOptimizer } from "../../tests/interop/optim-run.ts";
import { sgd } from "./sgd.ts";

test("plain descent with weight decay follows the reference", async () => {
  const { param, slots } = await runOptimizer(sgd({ lr: 0.1, weightDecay: 0.05 }));
  const expected = reference(
    () => null,
    (p, g) => p - 0.1 * (g + 0.05 * p),
  );
  expect(relativeError(param, expected)).toBeLessThan(1e-5);
  expect(slots).toEqual({});
});

test.each([
  { nesterov: false, dampening: 0 },
  { nesterov: false, dampening: 0.3 },
  { nesterov: true, dampening: 0 },
])("momentum follows the reference: %o", async ({ nesterov, dampening }) => {
  const { param, slots } = await runOptimizer(sgd({ lr: 0.05, momentum: 0.9, nesterov, dampening, weightDecay: 0.01 }));
  const expected = reference(
    () => ({ buffer: 0 }),
    (p, g, s, t) => {
      const d = g + 0.01 * p;
      s.buffer = t === 1 ? d : 0.9 * s.buffer + (1 - dampening) * d;
      return p - 0.05 * (nesterov ? d + 0.9 * s.buffer : s.buffer);
    },
  );
  expect(relativeError(param, expected)).toBeLessThan(1e-5);
  expect(Object.keys(slots)).toEqual(["momentum_buffer"]);
});

test("a changed rate or momentum is an input: nothing is traced again", async () => {
  const optimizer = sgd({ lr: 0.1, momentum: 0.9 });
  const { param, traces } = await runOptimizer(optimizer, (t) => ({
    lr: 0.1 / t,
    momentum: 1 - 1 / t,
    weightDecay: 0,
  }));
  const expected = reference(
    () => ({ buffer: 0 }),
    (p, g, s, t) => {
      s.buffer = (1 - 1 / t) * s.buffer + g;
      return p - (0.1 / t) * s.buffer;
    },
  );
  expect(relativeError(param, expected)).toBeLessThan(1e-5);
  expect(traces).toBe(1);
});

test("momentum exists only where it was asked for", () => {
  expect(sgd().defaults).toEqual({ lr: 1e-3, weightDecay: 0 });
  expect(sgd().slots).toEqual([]);
  expect(sgd({ momentum: 0 })).toMatchObject({ defaults: { momentum: 0 }, slots: ["momentum_buffer"] });
  const grouped = sgd({ groups: [{ params: "bias", momentum: 0.5 }] });
  expect(grouped).toMatchObject({ defaults: { momentum: 0 }, slots: ["momentum_buffer"] });
});

test("wrong options are errors that say what to do", () => {
  expect(() => sgd({ momentun: 0.9 } as object)).toThrow(/unknown option `momentun`\. Did you mean `momentum`\?/);
  expect(() => sgd({ lr: -1 })).toThrow("Expected `lr` to be a number ≥ 0, got `-1` (number)");
  expect(() => sgd({ nesterov: true })).toThrow("`nesterov` needs a `momentum`");
  expect(() => sgd({ nesterov: true, momentum: 0.9, dampening: 0.1 })).toThrow("no `dampening`");
});
