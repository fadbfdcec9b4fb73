// Skips leave parameters, optimizer and model state as they were, bit for bit, whatever the plan.
import { Trainer, type Hook, type HostArray } from "hookline";
import { DataLoader } from "hookline/data";
import { batchNorm, linear, mse, sequential, tanh } from "hookline/nn";
import { adamw } from "hookline/optim";
import { testEngine, tinyData } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { bitsOf, byAnotherPlan } from "../support/to-rounding.ts";

const data = tinyData(32);
/** The same data without the samples of some batches of four. */
function without(...batches: number[]) {
  const keep = ({ data, shape }: HostArray) => {
    const row = 4 * shape[1]!;
    const parts = Array.from({ length: 8 }, (_, i) => i).filter((i) => !batches.includes(i));
    const kept = Float32Array.from(parts.flatMap((i) => [...data.subarray(i * row, (i + 1) * row)]));
    return { data: kept, shape: [parts.length * 4, shape[1]!] };
  };
  return { x: keep(data.x), y: keep(data.y) };
}

async function finalBits(train: typeof data, hooks: Hook[], accumulate = 1) {
  await using trainer = new Trainer({
    // No bias in front of the norm, which takes it away again: its gradient would be rounding alone.
    model: sequential(linear(3, 8, { bias: false }), batchNorm(8), tanh(), linear(8, 1)),
    loss: mse(),
    optimizer: adamw({ lr: 0.05 }),
    train: new DataLoader(train, { batchSize: 4 }),
    epochs: 1,
    accumulate,
    clipNorm: 1,
    engine: testEngine(),
    signals: false,
    hooks,
  });
  const result = await trainer.fit();
  const state = await trainer.stateDict();
  return {
    result,
    bits: Object.entries(state).map(([name, array]) => [name, bitsOf(name, array)]),
  };
}

const at = (step: number, scope: "batch" | "step") => (ctx: { step: number; skip(scope: "batch" | "step"): void }) =>
  void (ctx.step === step && ctx.skip(scope));
const events = ["onBatchBegin", "onBeforeForward", "onAfterForward", "onBeforeBackward", "onAfterBackward"] as const;

describe("a skipped step or batch", () => {
  test.each(["onStepBegin", "onBeforeFetch", ...events, "onBeforeOptimizerStep", "onGradientClip"] as const)(
    "step in %s",
    async (method) => {
      const skipped = await finalBits(data, [{ name: "skipper", [method]: at(3, "step") }]);
      const reference = await finalBits(without(2), []);
      expect(skipped.bits).toEqual(byAnotherPlan(reference.bits));
      expect(skipped.result).toMatchObject({ steps: 8, skippedSteps: 1 });
      expect(skipped.result.metrics["train/loss"]).toEqual(byAnotherPlan(reference.result.metrics["train/loss"]));
      expect(skipped.result.interventions).toMatchObject([{ who: "skipper", step: 3, what: 'skip("step")' }]);
    },
  );

  test.each(events)("batch in %s, alone in its step", async (method) => {
    const skipped = await finalBits(data, [{ name: "skipper", [method]: at(3, "batch") }]);
    expect(skipped.bits).toEqual(byAnotherPlan((await finalBits(without(2), [])).bits));
    expect(skipped.result.skippedSteps).toBe(1);
  });

  test("a skipped micro-batch leaves the accumulation mean", async () => {
    // Batches 2 and 3 make step 2; without batch 3 the step is batch 2 alone, as if the group were a partial one.
    const skipper: Hook = { name: "skipper", onAfterBackward: (ctx) => void (ctx.batchIdx === 3 && ctx.skip("batch")) };
    const skipped = await finalBits(data, [skipper], 2);
    expect(skipped.result).toMatchObject({ steps: 4, skippedSteps: 0 });
    const losses: number[] = [];
    const alone: Hook = { name: "alone", onStepEnd: (ctx) => void losses.push(ctx.loss) };
    await finalBits(data, [{ ...skipper }, alone], 2);
    const single: number[] = [];
    await finalBits(
      data,
      [{ name: "second", onBatchEnd: (ctx) => void (ctx.batchIdx === 2 && single.push(ctx.loss)) }],
      2,
    );
    expect(losses[1]).toBe(single[0]);
  });

  test("a hook that scales gradients does change the run", async () => {
    const scaled = await finalBits(data, [{ name: "scaler", onAfterBackward: (ctx) => ctx.grads.scale(0.5) }]);
    expect(scaled.bits).not.toEqual((await finalBits(data, [])).bits);
  });
});
