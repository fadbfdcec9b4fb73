// earlyStopping with restoreBest: "checkpoint".
import type { Hook, RunResult, Trainer } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { batchNorm, linear, sequential } from "hookline/nn";
import { savedState, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { expect, test, vi } from "vitest";
import { earlyStopping } from "./early-stopping.ts";
import { ema } from "../averaging/ema.ts";

/** Saves after these steps, at the end of their epoch. */
const saveAt = (...steps: readonly number[]): Hook => ({
  name: "saveAt",
  onEpochEnd: (ctx) => void (steps.includes(ctx.step) && ctx.requestSave()),
});
const at = new Map<number, number[]>();
const recorder: Hook = {
  name: "recorder",
  onStepEnd: async (ctx) => void at.set(ctx.step, [...(await ctx.params.get("0.weight")).data]),
};
/** An epoch is one step and one evaluation; `values` are what `val/x` shows. The model has buffers, which `setParams` does not take. */
function train(values: readonly number[], saved: readonly number[], more: TinyOptions = {}): Trainer {
  at.clear();
  const { hooks = [], ...rest } = more;
  const script: Hook = {
    name: "script",
    logs: ["val/x"],
    onEvalEnd: (ctx) => ctx.log({ "val/x": values[ctx.step - 1]! }),
  };
  const stopper = earlyStopping({ monitor: "val/x", mode: "min", patience: 9, restoreBest: "checkpoint" });
  return tinyTrainer({
    model: sequential(linear(3, 4), batchNorm(4), linear(4, 1)),
    samples: 4,
    eval: new DataLoader(tinyData(4, 2), { batchSize: 4 }),
    epochs: 4,
    store: memoryStore(),
    save: "sync",
    hooks: [script, recorder, saveAt(...saved), ...hooks, stopper],
    ...rest,
  });
}
const weight = async (trainer: Trainer): Promise<number[]> => [...(await trainer.stateDict())["0.weight"]!.data];
const reasons = ({ interventions }: RunResult): unknown[] =>
  interventions.filter(({ what }) => what === "setParams").map(({ why }) => why);

test("the best check's checkpoint, whoever ended the run, and nothing is kept in memory", async () => {
  const stop: Hook = { name: "stop", onStepEnd: (ctx) => void (ctx.step === 4 && ctx.stop("enough")) };
  for (const hooks of [[], [stop]]) {
    const trainer = train([3, 1, 2, 2], [1, 2, 3, 4], { epochs: hooks.length > 0 ? 9 : 4, hooks });
    const result = await trainer.fit();
    expect(reasons(result)).toEqual(["the best val/x, 1, was at step 2 (step-000002)"]);
    expect(await weight(trainer)).toEqual(at.get(2));
    expect(at.get(4)).not.toEqual(at.get(2));
    expect((await savedState(trainer.hooks.get("earlyStopping")!)).tensors).toBeUndefined();
  }
});

test("when the best was not saved, the best of those that were, and it says so", async () => {
  const trainer = train([3, 1, 1.5, 2], [1, 3, 4]);
  expect(reasons(await trainer.fit())).toEqual([
    "the best val/x, 1, was at step 2, and was not saved; of what was, step-000003 is best with 1.5",
  ]);
  expect(await weight(trainer)).toEqual(at.get(3));
});

test("when there is none, the parameters stay, with a warning", async () => {
  const warn = vi.fn();
  const trainer = train([3, 1, 2, 2], [], { warn });
  expect(reasons(await trainer.fit())).toEqual([]);
  expect(await weight(trainer)).toEqual(at.get(4));
  expect(warn).toHaveBeenCalledExactlyOnceWith(
    "earlyStopping: the best val/x, 1, was at step 2, but there is no checkpoint: the parameters stay those of the last step.",
  );
});

test("not when the last step is the best, and never after a failure", async () => {
  expect(reasons(await train([4, 3, 2, 1], [1, 2, 3, 4]).fit())).toEqual([]);
  const broken: Hook = {
    name: "broken",
    onEpochEnd(ctx) {
      if (ctx.step === 4) throw new Error("broken");
    },
  };
  const trainer = train([3, 1, 2, 2], [1, 2, 3], { hooks: [broken] });
  await expect(trainer.fit()).rejects.toThrow("broken");
  expect(await weight(trainer)).toEqual(at.get(4));
});

test("averaged weights where there are some: it is those that were evaluated", async () => {
  const trainer = train([3, 1, 2, 2], [2], { hooks: [ema({ decay: 0.5 })] });
  const result = await trainer.fit();
  expect(reasons(result)).toHaveLength(1);
  // Of two steps: half of each.
  const mean = at.get(1)!.map((value, i) => (value + at.get(2)![i]!) / 2);
  (await weight(trainer)).forEach((value, i) => expect(value).toBeCloseTo(mean[i]!, 6));
});

test("a trainer without a place for checkpoints is an error before it starts", async () => {
  await expect(train([1], [], { store: undefined }).fit()).rejects.toThrow(
    'earlyStopping: `restoreBest: "checkpoint"` needs a place for checkpoints: give the trainer `runDir` or a `store`',
  );
  expect(() => earlyStopping({ restoreBest: "disk" as never })).toThrow(
    'Expected `restoreBest` to be true or false or one of "memory", "checkpoint"',
  );
});
