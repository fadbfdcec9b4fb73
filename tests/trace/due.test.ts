// `ctx.due`: a hook's own cadences inside its methods. And verbs of stepBegin, which hold for the step that begins.
import { ContextError, OptionError, type Cadence, type ContextOf, type Hook } from "hookline";
import { testContext, tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test } from "vitest";

async function fit(hook: Hook, options: TinyOptions = {}): Promise<void> {
  await using trainer = tinyTrainer({ samples: 24, epochs: 2, ...options, hooks: [hook] });
  await trainer.fit();
}

/** Where `ctx.due` agrees: the same steps as a hook of this cadence is called in. */
async function compare(cadence: Cadence): Promise<number[]> {
  const asked: number[] = [];
  const gated: number[] = [];
  await fit({ name: "asks", onStepEnd: (ctx) => void (ctx.due(cadence) && asked.push(ctx.step)) });
  await fit({ name: "asks", every: cadence, onStepEnd: (ctx) => void gated.push(ctx.step) });
  expect(asked).toEqual(gated);
  return asked;
}

test("says what `every` would", async () => {
  expect(await compare(5)).toEqual([5, 10]);
  expect(await compare("25%")).toEqual([3, 6, 9, 12]);
  expect(await compare({ every: 2, from: 4, until: 8 })).toEqual([4, 6, 8]);
  expect(await compare({ from: "1 epoch" })).toEqual([7, 8, 9, 10, 11, 12]);
  expect(await compare({ until: "1 epoch" })).toEqual([1, 2, 3, 4, 5, 6]);
  expect((await compare({ sample: 0.5 })).length).toBeGreaterThan(0);
});

test("a bare number counts the unit of the event", async () => {
  const seen: string[] = [];
  const note = (what: string, ctx: { due(cadence: Cadence): boolean; step: number }): void => {
    if (ctx.due(4)) seen.push(`${what} ${ctx.step}`);
  };
  await fit(
    { name: "h", onBatchEnd: (ctx) => note("batch", ctx), onStepEnd: (ctx) => note("step", ctx) },
    { accumulate: 2 },
  );
  expect(seen).toEqual(["batch 2", "batch 4", "step 4", "batch 6"]);
});

test("from and until at stepBegin are of the step that begins", async () => {
  const on: number[] = [];
  const window = { from: "3 steps", until: "5 steps" };
  await fit({ name: "h", onStepBegin: (ctx) => void (ctx.due(window) && on.push(ctx.step)) });
  expect(on).toEqual([3, 4, 5]);
});

test("a mistake in the cadence, and a late call, are errors", async () => {
  const wrong: Hook = { name: "h", onStepEnd: (ctx) => void ctx.due("3 stpes") };
  const error = (await fit(wrong).catch((reason: unknown) => reason)) as Error;
  expect(error.cause).toBeInstanceOf(OptionError);
  expect(error.message).toMatch(/ctx\.due.*Did you mean `steps`/);
  let kept: ContextOf<"stepEnd"> | undefined;
  await fit({ name: "h", onStepEnd: (ctx) => void (kept = ctx) });
  expect(() => kept!.due(1)).toThrow(ContextError);
});

test("the testing kit's context knows it too", () => {
  const due = (step: number, cadence: Cadence): boolean => testContext("stepEnd", { step, epoch: 1 }).ctx.due(cadence);
  expect([1, 2, 3, 4].map((step) => due(step, 2))).toEqual([false, true, false, true]);
  expect([24, 25].map((step) => due(step, "25%"))).toEqual([false, true]);
  expect(due(9, { from: "1 epoch" })).toBe(true);
  expect(testContext("stepEnd", { due: () => true }).ctx.due(1000)).toBe(true);
});

test("setAccumulate and setTrainable in stepBegin hold for that step", async () => {
  const batches: number[] = [];
  const bias: number[] = [];
  await fit({
    name: "h",
    async onStepBegin(ctx) {
      batches.push(0);
      if (ctx.step === 2) ctx.setAccumulate(2);
      if (ctx.step === 3) ctx.setTrainable("weight");
      bias.push((await ctx.params.get("bias")).data[0]!);
    },
    onBatchBegin: () => void batches[batches.length - 1]!++,
  });
  expect(batches).toEqual([1, 2, 2, 1, 2, 2, 2]);
  // From the third step on it no longer moves.
  expect(bias[1]).not.toBe(bias[2]);
  expect(new Set(bias.slice(2)).size).toBe(1);
});

test("setTrainable in the middle of a step holds from the next one on", async () => {
  const bias: number[] = [];
  await fit({
    name: "h",
    onBatchBegin: (ctx) => void (ctx.step === 2 && ctx.setTrainable("weight")),
    async onStepEnd(ctx) {
      bias.push((await ctx.params.get("bias")).data[0]!);
    },
  });
  expect(bias[0]).not.toBe(bias[1]);
  expect(new Set(bias.slice(1)).size).toBe(1);
});
