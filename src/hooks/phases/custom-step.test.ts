import { numpy as np } from "@jax-js/jax";
import type { Hook, HostTensors, UpdateFn } from "hookline";
import { memoryStore, type CheckpointStore } from "hookline/checkpoint";
import { adam, sgd } from "hookline/optim";
import { tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, test } from "vitest";
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

describe("momentum of one's own", () => {
  const momentum: UpdateFn = (params, grads, { lr, state: { velocity } }) => {
    const names = Object.keys(params);
    const next = Object.fromEntries(names.map((name) => [name, velocity![name]!.mul(0.9).add(grads[name]!)]));
    const moved = names.map((name) => [name, params[name]!.sub(next[name]!.ref.mul(lr.ref))] as const);
    return [Object.fromEntries(moved), { velocity: next }];
  };
  const own = (options: Partial<CustomStepOptions> = {}): Hook =>
    customStep({ update: momentum, slots: ["velocity"], ...options });
  const split: Hook = { name: "split", onAfterBackward: () => undefined };
  const weights = async (options: TinyOptions): Promise<HostTensors> => {
    await using trainer = tinyTrainer({ epochs: 2, ...options });
    await trainer.fit();
    return await trainer.stateDict();
  };

  test.each([
    ["fused", []],
    ["split", [split]],
  ])("is sgd's (%s)", async (_, hooks) => {
    const found = await weights({ optimizer: sgd({ lr: 0.05 }), hooks: [own(), ...hooks] });
    const expected = await weights({ optimizer: sgd({ lr: 0.05, momentum: 0.9 }) });
    for (const [name, { data }] of Object.entries(expected))
      for (const [i, value] of data.entries()) expect(found[name]!.data[i]).toBeCloseTo(value, 6);
  });

  test("with from and until leaves the optimizer's own state alone", async () => {
    const optimizer = adam({ lr: 0.05 });
    const part = own({ from: "3 steps", until: "5 steps" });
    const found = await weights({ optimizer, hooks: [part] });
    expect(found).toEqual(await weights({ optimizer, hooks: [part, split] }));
  });

  test.each([[[]], [[split]]])("is saved, and resumes to the same bits", async (hooks) => {
    const options = (store: CheckpointStore): TinyOptions => ({
      store,
      epochs: 2,
      optimizer: adam({ lr: 0.05 }),
      hooks: [own(), ...hooks, { name: "save", onStepEnd: (ctx) => void (ctx.step === 3 && ctx.requestSave()) }],
    });
    const store = memoryStore();
    const expected = await weights(options(store));
    await using resumed = tinyTrainer(options(store));
    const saved = (await store.list()).find(({ step }) => step === 3)!;
    const { resumed: report } = await resumed.fit({ resume: saved.name });
    expect(report).toMatchObject({ step: 3, missing: [], orphaned: [] });
    expect(await resumed.stateDict()).toEqual(expected);
  });

  test("must return its state", async () => {
    const forgetful = own({ update: (params) => params });
    await expect(weights({ hooks: [forgetful] })).rejects.toThrow(
      "it must return [params, state] with every slot of every parameter; `velocity` of `weight` is missing",
    );
  });
});

test("mistakes are errors at construction", () => {
  expect(() => customStep({} as never)).toThrow(/missing option `update`/);
  expect(() => customStep({ update: signDescent, form: 3 } as never)).toThrow(/Did you mean `from`/);
});
