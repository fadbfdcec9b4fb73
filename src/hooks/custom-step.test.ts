import { numpy as np } from "@jax-js/jax";
import type { Hook, UpdateFn } from "hookline";
import { sgd } from "hookline/optim";
import { tinyTrainer } from "hookline/testing";
import { expect, test } from "vitest";
import { customStep, type CustomStepOptions } from "./custom-step.ts";

const signDescent: UpdateFn = (params, grads, { lr }) =>
  Object.fromEntries(
    Object.entries(params).map(([name, param]) => [name, param.sub(np.sign(grads[name]!).mul(lr.ref))]),
  );

/** How far each step moved the bias. */
async function moves(options: Partial<CustomStepOptions>, fits: readonly number[] = [2]) {
  const bias: number[] = [];
  const watch: Hook = {
    name: "watch",
    async onTrainBegin(ctx) {
      if (ctx.step === 0) bias.push((await ctx.params.get("bias")).data[0]!);
    },
    async onStepEnd(ctx) {
      bias.push((await ctx.params.get("bias")).data[0]!);
    },
  };
  const hook = customStep({ update: signDescent, ...options });
  await using trainer = tinyTrainer({ optimizer: sgd({ lr: 0.125 }), hooks: [hook, watch] });
  let plan = "";
  for (const epochs of fits) {
    const { interventions } = await trainer.fit({ epochs });
    plan = interventions.map(({ what, step }) => `${what} ${step}`).join();
  }
  const sizes = bias.slice(1).map((value, i) => Math.abs(value - bias[i]!));
  return { own: sizes.map((size) => Math.abs(size - 0.125) < 1e-6), plan, explained: trainer.explainPlan() };
}

test("replaces the optimizer's step, in one program", async () => {
  const { own, explained } = await moves({});
  expect(own).toEqual(Array.from({ length: 8 }, () => true));
  expect(explained).toMatch(/^fused/);
});

test("from and until", async () => {
  const { own, plan } = await moves({ from: "3 steps", until: "5 steps" });
  expect(own).toEqual([false, false, true, true, true, false, false, false]);
  expect(plan).toBe("setUpdate(signDescent) 3,setUpdate(null) 6");
});

test("holds in a second fit", async () => {
  const { own } = await moves({}, [1, 2]);
  expect(own).toEqual(Array.from({ length: 8 }, () => true));
});

test("mistakes are errors at construction", () => {
  expect(() => customStep({} as never)).toThrow(/missing option `update`/);
  expect(() => customStep({ update: signDescent, form: 3 } as never)).toThrow(/Did you mean `from`/);
});
