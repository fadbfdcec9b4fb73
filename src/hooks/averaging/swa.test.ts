import type { Hook } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { savedState, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test } from "vitest";
import { averagedParams } from "./average.ts";
import { swa, type SwaOptions } from "./swa.ts";

async function run(options: SwaOptions, trainerOptions: TinyOptions = {}) {
  const epochs: number[][] = [];
  const steps: number[][] = [];
  const watcher: Hook = {
    name: "watcher",
    async onStepEnd(ctx) {
      steps.push([...(await ctx.params.get("weight")).data]);
    },
    onEpochEnd: () => void epochs.push(steps.at(-1)!),
  };
  await using trainer = tinyTrainer({ epochs: 4, hooks: [swa(options), watcher], ...trainerOptions });
  const result = await trainer.fit();
  const { weight } = await trainer.stateDict();
  return { epochs, steps, result, weight: [...weight!.data] };
}

const mean = (all: readonly number[][]): number[] =>
  all[0]!.map((_, i) => all.reduce((sum, each) => sum + each[i]!, 0) / all.length);

/** The greatest difference. */
const distance = (actual: readonly number[], expected: readonly number[]): number =>
  Math.max(...actual.map((value, i) => Math.abs(value - expected[i]!)));

test("the mean of the last epochs becomes the model's parameters", async () => {
  const { epochs, weight, result } = await run({ from: "50%" });
  expect(distance(weight, mean(epochs.slice(1)))).toBeLessThan(1e-6);
  expect(weight).not.toEqual(epochs[3]);
  expect(result.interventions.at(-1)).toMatchObject({ who: "swa", what: "setParams", why: "the mean of 3" });
});

test("from the default of 75 % on, at the end of every epoch", async () => {
  const { epochs, weight } = await run({});
  expect(distance(weight, mean(epochs.slice(2)))).toBeLessThan(1e-6);
});

test("every third step", async () => {
  const { steps, weight } = await run({ every: 3, from: 6 });
  expect(distance(weight, mean([5, 8, 11, 14].map((i) => steps[i]!)))).toBeLessThan(1e-6);
});

test("apply eval: evaluations see it, the model keeps its own", async () => {
  const val = new DataLoader(tinyData(8, 2), { batchSize: 8 });
  const averaged = await run({ apply: "eval", from: "1 epoch" }, { eval: val });
  const plain = await run({ from: "9 epochs" }, { eval: val });
  expect(averaged.weight).toEqual(plain.weight);
  expect(averaged.weight).toEqual(averaged.epochs[3]);
  expect(averaged.result.metrics["val/loss"]).not.toBe(plain.result.metrics["val/loss"]);
});

test("a run that failed keeps its own parameters", async () => {
  const fails: Hook = {
    name: "fails",
    onStepEnd(ctx) {
      if (ctx.step === 15) throw new Error("on purpose");
    },
  };
  let applied = false;
  const watch: Hook = {
    name: "watch",
    onTrainEnd: (ctx) => void (applied = ctx.shared.get(averagedParams) !== undefined),
  };
  const run = async (hooks: Hook[]) => {
    await using trainer = tinyTrainer({ epochs: 4, hooks });
    await expect(trainer.fit()).rejects.toThrow("on purpose");
    return [...(await trainer.stateDict()).weight!.data];
  };
  expect(await run([swa({ from: "1 epoch" }), fails, watch])).toEqual(await run([fails]));
  expect(applied).toBe(true);
});

test("state goes round, and a mean goes on from it", async () => {
  const make = (epochs: number, hook: Hook) => tinyTrainer({ samples: 4, epochs, hooks: [hook] });
  const options: SwaOptions = { from: 0, apply: "eval" };
  const whole = swa(options);
  await using uninterrupted = make(6, whole);
  await uninterrupted.fit();
  const first = swa(options);
  await using before = make(3, first);
  await before.fit();
  const second = swa(options);
  await second.load!(structuredClone(await savedState(first)), 1);
  await using after = make(3, second);
  await after.loadStateDict(await before.stateDict());
  await after.fit();
  expect((await savedState(second)).tensors).toEqual((await savedState(whole)).tensors);
  expect((await savedState(second)).json).toMatchObject({ count: 6 });
});

test("a checkpoint has the mean in a file of its own, and a resumed run ends with the same", async () => {
  const store = memoryStore();
  const save: Hook = { name: "save", onStepEnd: (ctx) => ctx.requestSave() };
  const make = (hooks: Hook[]) =>
    tinyTrainer({ epochs: 4, store, save: "sync", hooks: [swa({ from: "2 epochs" }), ...hooks] });
  await using whole = make([save]);
  await whole.fit();
  const files = async (name: string) => Object.keys((await store.load({ name })).files);
  expect(await files("step-000007")).not.toContain("model-swa.safetensors");
  expect(await files("step-000009")).toContain("model-swa.safetensors");
  await using resumed = make([]);
  await resumed.fit({ resume: "step-000009" });
  expect(await resumed.stateDict()).toEqual(await whole.stateDict());
});

test("mistakes are errors at construction", () => {
  expect(() => swa({ apply: "start" as never })).toThrow(/swa: Expected `apply` to be one of "end", "eval"/);
  expect(() => swa({ every: "1 epok" })).toThrow(/unknown unit "epok"/);
});
