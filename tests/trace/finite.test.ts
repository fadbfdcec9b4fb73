// `needs: ["finite"]`: a step whose loss or gradient is not finite changes nothing, whatever the plan.
import { Trainer, type Hook, type HostBatch } from "hookline";
import { DataLoader } from "hookline/data";
import { batchNorm, linear, mse, sequential, tanh } from "hookline/nn";
import { adamw } from "hookline/optim";
import { testEngine, tinyData } from "hookline/testing";
import { expect, test } from "vitest";

const data = tinyData(32);

/** The data as batches, one of them spoiled or left out. */
function* batches(at: number, spoil: number | undefined): Generator<HostBatch> {
  for (let i = 0; i < 8; i++) {
    const x = data.x.data.slice(i * 12, (i + 1) * 12);
    if (i === at && spoil === undefined) continue;
    if (i === at) x[5] = spoil!;
    yield { x: { data: x, shape: [4, 3] }, y: { data: data.y.data.slice(i * 4, (i + 1) * 4), shape: [4, 1] } };
  }
}

async function run(spoil: number | undefined, hooks: Hook[], options: { accumulate?: number; clipNorm?: number } = {}) {
  const seen: { finite: boolean; skipped: boolean; loss: number }[] = [];
  const guard: Hook = {
    name: "guard",
    needs: ["finite"],
    onStepEnd: ({ finite, skipped, loss }) => void seen.push({ finite, skipped, loss }),
  };
  await using trainer = new Trainer({
    model: sequential(linear(3, 8), batchNorm(8), tanh(), linear(8, 1)),
    loss: mse(),
    optimizer: adamw({ lr: 0.05 }),
    train: new DataLoader(() => batches(3, spoil)),
    epochs: 1,
    engine: testEngine(),
    signals: false,
    hooks: [guard, ...hooks],
    ...options,
  });
  const { metrics, skippedSteps } = await trainer.fit();
  const state = await trainer.stateDict();
  const bits = Object.entries(state).map(([name, { data: values }]) => [
    name,
    [...new Uint32Array(values.slice().buffer)],
  ]);
  return { bits, seen, metrics, skippedSteps };
}

const observe = (method: string): Hook => ({ name: method, [method]: () => undefined });
const plans: [string, Hook[]][] = [
  ["fused", []],
  ["split", [observe("onAfterBackward")]],
  ["forward first", [observe("onAfterForward")]],
];

test.each(plans)("%s: NaN and Infinity leave parameters, optimizer and state bit-identical", async (_, hooks) => {
  for (const clip of [{}, { clipNorm: 1 }]) {
    const without = await run(undefined, hooks, clip);
    for (const spoil of [Number.NaN, Infinity]) {
      const spoiled = await run(spoil, hooks, clip);
      expect(spoiled.bits).toEqual(without.bits);
      expect(spoiled.metrics["train/loss"]).toBe(without.metrics["train/loss"]);
      expect(spoiled.skippedSteps).toBe(1);
      expect(spoiled.seen.map(({ finite }) => finite)).toEqual([true, true, true, false, true, true, true, true]);
      expect(spoiled.seen[3]!.skipped).toBe(true);
    }
  }
});

test("an accumulated step with one bad micro-batch is skipped as a whole", async () => {
  const { seen, skippedSteps } = await run(Number.NaN, [], { accumulate: 2 });
  expect(seen.map(({ finite }) => finite)).toEqual([true, false, true, true]);
  expect(skippedSteps).toBe(1);
});

test("the guard changes no bit of a healthy run", async () => {
  const guarded = await run(undefined, []);
  const more = await run(undefined, [{ name: "needs", needs: ["gradNorm", "outputs"] }]);
  expect(more.bits).toEqual(guarded.bits);
});
