// What happens around a cut: an evaluation that a signal cuts off, a failure right after a boundary, a stop that comes too late.
import type { Hook } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { plateau } from "hookline/optim";
import { recordTrace, tinyData, tinyTrainer } from "hookline/testing";
import { describe, expect, test } from "vitest";

const val = () => new DataLoader(tinyData(8, 2), { batchSize: 4 });
const atEnd: Hook = { name: "atEnd", onTrainBegin: (ctx) => ctx.requestSave("final", { at: "end" }) };

test("what hooks did at the boundary before a failure is in the emergency checkpoint", async () => {
  const halve: Hook = {
    name: "halve",
    onStepEnd: (ctx) => void (ctx.step === 2 && ctx.setLr((lr) => lr / 2, "as planned")),
  };
  const failing: Hook = {
    name: "failing",
    onStepBegin({ step }) {
      if (step === 3) throw new Error("no data");
    },
  };
  const often: number[] = [];
  /** A cadence counts from its last occasion, which is part of what is saved. */
  const counting = (): Hook => ({
    name: "counting",
    every: "6 samples",
    onStepEnd: ({ step }) => void often.push(step),
  });
  await using whole = tinyTrainer({ epochs: 2, hooks: [halve, counting()] });
  await whole.fit();
  const expected = often.splice(0);

  const store = memoryStore();
  await using broken = tinyTrainer({ epochs: 2, store, hooks: [halve, counting(), atEnd, failing] });
  await expect(broken.fit()).rejects.toThrow("no data");

  const rates: number[] = [];
  const watch: Hook = { name: "watch", onStepEnd: (ctx) => void rates.push(ctx.lr) };
  await using resumed = tinyTrainer({ epochs: 2, store, hooks: [halve, counting(), watch] });
  const result = await resumed.fit({ resume: "auto" });
  expect(result.resumed?.step).toBe(2);
  expect(rates[0]).toBe(0.05);
  expect(often).toEqual(expected);
  expect(await resumed.stateDict()).toEqual(await whole.stateDict());
});

/** Ends the run in the middle of its `which`-th evaluation. */
function interruptEvaluation(which: number): { readonly hook: Hook; readonly signal: AbortSignal } {
  const controller = new AbortController();
  let evaluations = 0;
  const hook: Hook = {
    name: "interrupt",
    onEvalBegin: () => void evaluations++,
    onEvalBatchEnd: ({ batchIdx }) => void (evaluations === which && batchIdx === 0 && controller.abort()),
  };
  return { hook, signal: controller.signal };
}

describe.each([
  ["at an epoch's end", {}],
  ["after a step", { evalEvery: 3 }],
] as const)("an evaluation %s that a signal cuts off", (_, options) => {
  test("is done when the run goes on, and all that follows from it", async () => {
    await using whole = tinyTrainer({ epochs: 3, eval: val(), ...options });
    const expected = await whole.fit();

    const store = memoryStore();
    const { hook, signal } = interruptEvaluation(2);
    await using first = tinyTrainer({ epochs: 3, store, eval: val(), ...options, hooks: [hook, atEnd] });
    const cut = await first.fit({ signal });
    expect(cut.status).toBe("interrupted");

    const trace = recordTrace();
    await using second = tinyTrainer({ epochs: 3, store, eval: val(), ...options, hooks: [trace] });
    const result = await second.fit({ resume: "auto" });
    expect(result.metrics).toEqual(expected.metrics);
    const evaluated = (history: typeof expected.history) =>
      history.filter((row) => "val/loss" in row.metrics).map(({ step }) => step);
    expect(new Set(evaluated(result.history))).toEqual(new Set(evaluated(expected.history)));
    // Before the first step, which would change what is evaluated.
    const names = trace.names();
    expect(names.indexOf("evalEnd")).toBeLessThan(names.indexOf("stepBegin"));
  });
});

describe.each([
  ["for the end of the run", { steps: 3, evalEvery: { every: 100, atEnd: true } }, 1],
  ["after its last step", { steps: 4, evalEvery: 2 }, 2],
  ["at the end of its last epoch", { epochs: 2 }, 2],
] as const)("an evaluation %s that a signal cuts off", (_, options, which) => {
  test("leaves the run interrupted, and is all that is done when it goes on", async () => {
    await using whole = tinyTrainer({ eval: val(), ...options });
    const expected = await whole.fit();

    const store = memoryStore();
    const { hook, signal } = interruptEvaluation(which);
    await using first = tinyTrainer({ store, eval: val(), ...options, hooks: [hook, atEnd] });
    expect((await first.fit({ signal })).status).toBe("interrupted");

    const trace = recordTrace();
    await using second = tinyTrainer({ store, eval: val(), ...options, hooks: [trace] });
    const result = await second.fit({ resume: "auto" });
    expect(result).toMatchObject({ status: "completed", reason: expected.reason, metrics: expected.metrics });
    const names = trace.names();
    expect([names.filter((name) => name === "evalEnd").length, names.includes("stepBegin")]).toEqual([1, false]);
  });
});

test("an epoch whose evaluation was cut off shows itself as partial", async () => {
  const partial: boolean[] = [];
  const watch: Hook = { name: "watch", onEpochEnd: (ctx) => void partial.push(ctx.partial) };
  const { hook, signal } = interruptEvaluation(1);
  await using trainer = tinyTrainer({ epochs: 2, eval: val(), hooks: [hook, watch] });
  expect((await trainer.fit({ signal })).epochs).toBe(0);
  expect(partial).toEqual([true]);
});

test("a stop that comes after a signal is refused: the run is there to be resumed", async () => {
  const late: Hook = { name: "late", onEpochEnd: (ctx) => ctx.stop("good enough") };
  const { hook, signal } = interruptEvaluation(1);
  await using trainer = tinyTrainer({ epochs: 2, eval: val(), hooks: [hook, late] });
  const result = await trainer.fit({ signal });
  expect(result.status).toBe("interrupted");
  expect(result.interventions).toMatchObject([{ what: "stop", refused: "the run is interrupted already" }]);
});

test("evaluations before the first step and after the last are logged", async () => {
  const logged: [number, boolean][] = [];
  const watch: Hook = { name: "watch", onLog: (ctx) => void logged.push([ctx.step, "val/loss" in ctx.logged]) };
  await using trainer = tinyTrainer({
    steps: 2,
    eval: val(),
    evalAtStart: true,
    evalEvery: { every: 100, atEnd: true },
    logEvery: 100,
    hooks: [watch],
  });
  await trainer.fit();
  expect(logged.filter(([, evaluated]) => evaluated).map(([step]) => step)).toEqual([0, 2]);
});

test.each([
  ["without an evaluation", {}],
  ["with one for each epoch", { eval: val() }],
  ["with one for each step", { eval: val(), evalEvery: 1 }],
])("plateau follows the training's own loss, %s", async (_, options) => {
  const schedule = plateau({ monitor: "train/loss", patience: 0, threshold: 0.99, factor: 0.5 });
  const rates: number[] = [];
  const watch: Hook = { name: "watch", onStepBegin: (ctx) => void (ctx.step % 4 === 1 && rates.push(ctx.lr)) };
  await using trainer = tinyTrainer({ epochs: 4, schedule, ...options, hooks: [watch] });
  await trainer.fit();
  expect(rates).toEqual([0.1, 0.1, 0.05, 0.025]);
});
