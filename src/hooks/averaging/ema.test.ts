import type { DeviceTensors, Hook, HostTensors } from "hookline";
import { decodeSafetensors, memoryStore, toHostArrays } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { batchNorm, linear, sequential } from "hookline/nn";
import { savedState, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { ema, type EmaOptions } from "./ema.ts";
import { averagedParams } from "./average.ts";

const plain = (tensors: HostTensors): Record<string, number[]> =>
  Object.fromEntries(Object.entries(tensors).map(([name, { data }]) => [name, [...data]]));

/** The parameters after every step and the average at the end. */
async function watch(options: EmaOptions, trainer: TinyOptions = {}) {
  const steps: number[][] = [];
  let average: HostTensors | undefined;
  const watcher: Hook = {
    name: "watcher",
    after: "ema",
    async onStepEnd(ctx) {
      steps.push([...(await ctx.params.get("weight")).data]);
    },
    async onTrainEnd(ctx) {
      average = await ctx.shared.get(averagedParams)?.get("ema")?.read();
    },
  };
  await using tiny = tinyTrainer({ samples: 32, ...trainer, hooks: [ema(options), watcher] });
  await tiny.fit();
  return { steps, average: average?.weight ? [...average.weight.data] : undefined };
}

/** In float64: the first is taken as it is. */
const reference = (params: readonly number[][], decay: (n: number) => number): number[] =>
  params.slice(1).reduce((mean, next, i) => {
    const d = decay(i + 1);
    return mean.map((value, j) => d * value + (1 - d) * next[j]!);
  }, params[0]!);

/** The greatest difference. */
const distance = (actual: readonly number[] | undefined, expected: readonly number[]): number =>
  actual?.length === expected.length ? Math.max(...actual.map((value, i) => Math.abs(value - expected[i]!))) : Infinity;

describe("equals a float64 reference", () => {
  test("every step", async () => {
    const { steps, average } = await watch({ decay: 0.9 });
    expect(steps).toHaveLength(8);
    expect(
      distance(
        average,
        reference(steps, () => 0.9),
      ),
    ).toBeLessThan(1e-6);
  });

  test("with warmup", async () => {
    const { steps, average } = await watch({ decay: 0.9, warmup: true });
    expect(
      distance(
        average,
        reference(steps, (n) => Math.min(0.9, (1 + n) / (10 + n))),
      ),
    ).toBeLessThan(1e-6);
  });

  test("every other step from the fourth on", async () => {
    const { steps, average } = await watch({ decay: 0.8, every: 2, from: "4 steps" });
    expect(
      distance(
        average,
        reference([steps[3]!, steps[5]!, steps[7]!], () => 0.8),
      ),
    ).toBeLessThan(1e-6);
  });

  test("at the end of epochs", async () => {
    const { steps, average } = await watch({ decay: 0.8, every: "1 epoch" }, { epochs: 3 });
    expect(
      distance(
        average,
        reference([steps[7]!, steps[15]!, steps[23]!], () => 0.8),
      ),
    ).toBeLessThan(1e-6);
  });

  test("skipped steps do not count", async () => {
    const skip: Hook = { name: "skip", onStepBegin: (ctx) => void (ctx.step % 2 === 0 && ctx.skip("step")) };
    const hook = ema({ decay: 0.5 });
    await using trainer = tinyTrainer({ hooks: [hook, skip] });
    await trainer.fit();
    expect((await savedState(hook)).json).toMatchObject({ count: 2 });
  });
});

test("evaluations see the average, training does not", async () => {
  const val = new DataLoader(tinyData(8, 2), { batchSize: 8 });
  const run = async (hooks: Hook[]) => {
    await using trainer = tinyTrainer({ hooks, eval: val });
    const { metrics, interventions } = await trainer.fit();
    return { state: plain(await trainer.stateDict()), metrics, test: await trainer.evaluate(val), interventions };
  };
  const hook = ema({ decay: 0.5 });
  const averaged = await run([hook]);
  const without = await run([]);
  expect(averaged.state).toEqual(without.state);
  expect(averaged.metrics["train/loss"]).toBe(without.metrics["train/loss"]);
  expect(averaged.metrics["val/loss"]).not.toBe(without.metrics["val/loss"]);
  // evaluate() on its own too.
  expect(averaged.test["test/loss"]).toBe(averaged.metrics["val/loss"]);
  expect(averaged.interventions).toEqual([
    expect.objectContaining({ who: "ema", event: "evalBegin", what: "swapParams", why: "the moving average" }),
  ]);
});

test("two live side by side, and what an update replaces is freed", async () => {
  const seen = new Set<DeviceTensors>();
  const watcher: Hook = {
    name: "watcher",
    stage: "progress",
    onStepEnd(ctx) {
      const all = ctx.shared.need(averagedParams);
      expect([...all.keys()]).toEqual(["fast", "slow"]);
      for (const tensors of all.values()) seen.add(tensors);
    },
  };
  await using trainer = tinyTrainer({
    hooks: [ema({ name: "fast", decay: 0.1 }), ema({ name: "slow", decay: 0.9 }), watcher],
  });
  await trainer.fit();
  expect([...seen].map(({ freed }) => freed)).toEqual([true, true, true, true, true, true, false, false]);
});

/** One batch, again and again: the data of a resumed run is that of the run it continues. */
const oneBatch = (options: TinyOptions) => tinyTrainer({ samples: 4, ...options });

test("goes on after a resume as if nothing had happened", async () => {
  const whole = ema({ decay: 0.9, warmup: true });
  await using uninterrupted = oneBatch({ epochs: 6, hooks: [whole] });
  await uninterrupted.fit();

  const first = ema({ decay: 0.9, warmup: true });
  await using before = oneBatch({ epochs: 3, hooks: [first] });
  await before.fit();
  const saved = structuredClone(await savedState(first));
  const second = ema({ decay: 0.9, warmup: true });
  await second.load!(saved, 1);
  expect(await savedState(second)).toEqual(saved);
  await using after = oneBatch({ epochs: 3, hooks: [second] });
  await after.loadStateDict(await before.stateDict());
  await after.fit();
  const [resumed, expected] = [await savedState(second), await savedState(whole)];
  expect(resumed.tensors).toEqual(expected.tensors);
  expect(resumed.json).toMatchObject({ count: 6 });
});

test("a run that starts over starts a new average", async () => {
  const hook = ema({ decay: 0.9 });
  await using trainer = oneBatch({ epochs: 3, hooks: [hook] });
  await trainer.fit();
  const first = await savedState(hook);
  await trainer.fit({ restart: true });
  expect(await savedState(hook)).toEqual(first);
  await trainer.close();
  expect(await savedState(hook)).toEqual({ json: { count: 0, version: 0 } });
});

describe("in a checkpoint", () => {
  const val = new DataLoader(tinyData(8, 2), { batchSize: 8 });
  const save: Hook = { name: "save", onStepEnd: (ctx) => ctx.requestSave() };
  /** Puts parameters in place from outside, which the average must know about after a resume as well. */
  const meddle: Hook = {
    name: "meddle",
    onStepEnd: async (ctx) => void (ctx.step === 2 && ctx.setParams(await ctx.params.snapshot().read())),
  };

  test("an evaluation right after a resume sees the average, as the uninterrupted run does", async () => {
    for (const hooks of [[], [meddle]]) {
      const store = memoryStore();
      const make = (more: Hook[]) =>
        tinyTrainer({ store, save: "sync", eval: val, hooks: [...hooks, ema({ decay: 0.5 }), ...more] });
      await using whole = make([save]);
      const { metrics, interventions } = await whole.fit();
      expect(interventions.filter(({ what }) => what === "swapParams")).toHaveLength(1);
      // The epoch's last step is saved before the epoch's evaluation.
      await using resumed = make([]);
      const after = await resumed.fit({ resume: "step-000004" });
      expect(after.metrics).toEqual(metrics);
      expect(after.interventions).toEqual([expect.objectContaining({ what: "swapParams", step: 4 })]);
      // The model's own parameters show another loss.
      await using plain = tinyTrainer({ eval: val, hooks });
      expect((await plain.fit()).metrics["val/loss"]).not.toBe(metrics["val/loss"]);
    }
  });

  test("one that was not current then is not after a resume", async () => {
    const store = memoryStore();
    // Parameters put in place after the last update are what evaluations see.
    const last: Hook = { ...meddle, onStepEnd: async (ctx) => ctx.setParams(await ctx.params.snapshot().read()) };
    const make = (more: Hook[]) =>
      tinyTrainer({ store, save: "sync", eval: val, hooks: [ema({ decay: 0.5 }), { ...last, after: "ema" }, ...more] });
    await using whole = make([save]);
    const { metrics } = await whole.fit();
    await using resumed = make([]);
    const after = await resumed.fit({ resume: "step-000004" });
    expect(after.metrics).toEqual(metrics);
    expect(after.interventions.map(({ what }) => what)).not.toContain("swapParams");
  });

  test("has a file of its own, with the model's buffers, and goes there without being read", async () => {
    const store = memoryStore();
    const hook = ema({ decay: 0.5 });
    const model = sequential(linear(3, 4), batchNorm(4), linear(4, 1));
    let shared: readonly string[] = [];
    const look: Hook = {
      name: "look",
      onTrainBegin: (ctx) => void (shared = [...(ctx.shared.get(averagedParams)?.keys() ?? [])]),
    };
    await using trainer = tinyTrainer({
      model,
      store,
      save: "sync",
      hooks: [hook, ema({ name: "odd name" }), look, save],
    });
    await trainer.fit();
    expect(shared).toEqual([]);
    expect(await hook.state!()).toMatchObject({ file: "model-ema", tensors: { freed: false } });
    const { files } = await store.load({ name: "step-000004" });
    expect(Object.keys(files)).toEqual(expect.arrayContaining(["model.safetensors", "model-ema.safetensors"]));
    const saved = toHostArrays(decodeSafetensors(files["model-ema.safetensors"]!, "ema").tensors, "ema");
    const state = await trainer.stateDict();
    expect(Object.keys(saved).sort()).toEqual(Object.keys(state).sort());
    const average = (await savedState(hook)).tensors!;
    for (const [name, { data }] of Object.entries(saved))
      expect([...data], name).toEqual([...(average[name] ?? state[name])!.data]);
    // A name that no file can have: with those of all hooks.
    const others = decodeSafetensors(files["hooks.safetensors"]!, "hooks").tensors;
    expect(Object.keys(others)).toContain("odd name/0.weight");

    await using resumed = tinyTrainer({ model, store, save: "sync", steps: 5, hooks: [ema({ decay: 0.5 }), look] });
    await resumed.fit({ resume: "step-000003" });
    expect(shared).toEqual(["ema"]);
  });
});

test("mistakes are errors at construction", () => {
  expect(() => ema({ decay: 1 })).toThrow(/ema: Expected `decay` to be a number from 0 up to 1/);
  expect(() => ema({ decy: 0.9 } as never)).toThrow(/Did you mean `decay`/);
  expect(() => ema({ from: "2 epchs" })).toThrow(/Did you mean `epochs`/);
});
