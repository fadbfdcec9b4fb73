import type { ContextOf, Hook, HostBatch } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { sgd } from "hookline/optim";
import { savedState, testContext, tinyData, tinyTrainer } from "hookline/testing";
import { describe, expect, test } from "vitest";
import { lossSpike, type LossSpikeOptions } from "./loss-spike.ts";

const BATCHES = 24;
const data = tinyData(4 * BATCHES);

/** Batches, those in `bad` with targets far off; or without them. */
function* batches(bad: readonly number[], leaveOut = false): Generator<HostBatch> {
  for (let i = 0; i < BATCHES; i++) {
    if (bad.includes(i) && leaveOut) continue;
    const y = data.y.data.slice(i * 4, (i + 1) * 4);
    if (bad.includes(i)) y.fill(1000);
    yield { x: { data: data.x.data.slice(i * 12, (i + 1) * 12), shape: [4, 3] }, y: { data: y, shape: [4, 1] } };
  }
}

async function run(train: () => Iterable<HostBatch>, hooks: Hook[], accumulate = 1) {
  await using trainer = tinyTrainer({
    train: new DataLoader(train),
    optimizer: sgd({ lr: 0.01, momentum: 0.9 }),
    accumulate,
    hooks,
  });
  const plan = trainer.explainPlan();
  const result = await trainer.fit();
  const state = await trainer.stateDict();
  return { plan, result, state: Object.values(state).map((tensor) => [...tensor.data]) };
}

test("skip: the spiking batch is not learned", async () => {
  const spiked = await run(() => batches([14, 19]), [lossSpike({ factor: 50 })]);
  const without = await run(() => batches([14, 19], true), []);
  expect(spiked.state).toEqual(without.state);
  expect(spiked.result.skippedSteps).toBe(2);
  expect(spiked.result.interventions.map(({ who, step, what }) => [who, step, what])).toEqual([
    ["lossSpike", 15, 'skip("batch")'],
    ["lossSpike", 20, 'skip("batch")'],
  ]);
  expect(spiked.result.interventions[0]!.why).toMatch(/^loss \S+ is above \S+; the median of 14 is /);
  expect(spiked.plan).toMatch(/^forwardFirst/);
});

test("skip: of an accumulated step only the spiking batch is left out", async () => {
  const spiked = await run(() => batches([14]), [lossSpike({ factor: 50 })], 4);
  const without = await run(
    () => batches([]),
    [{ name: "skip", onBatchBegin: (ctx) => void (ctx.batchIdx === 14 && ctx.skip("batch")) }],
    4,
  );
  expect(spiked.state).toEqual(without.state);
  expect(spiked.result.skippedSteps).toBe(0);
});

test("lowerLr: the rate goes down once, the plan stays fused", async () => {
  const rates: number[] = [];
  const watch: Hook = { name: "watch", onStepEnd: (ctx) => void rates.push(ctx.lr) };
  // The spike is learned, so the losses after it are high as well.
  const options: LossSpikeOptions = { factor: 50, action: "lowerLr", lrFactor: 0.1, cooldown: 100 };
  const { plan } = await run(() => batches([14]), [lossSpike(options), watch]);
  expect(plan).toMatch(/^fused/);
  rates.forEach((rate, i) => expect(rate).toBeCloseTo(i < 15 ? 0.01 : 0.001, 8));
});

describe("rollback", () => {
  const options: LossSpikeOptions = { factor: 50, action: "rollback" };

  /** With a checkpoint after every second step; what the weights were after each step, and right after going back. */
  async function goBack(bad: readonly number[], spike: LossSpikeOptions = options, maxRollbacks = 3) {
    const weights = new Map<number, number[]>();
    const loaded: number[][] = [];
    const read = async (ctx: Pick<ContextOf<"init">, "params">) => [...(await ctx.params.get("weight")).data];
    const watch: Hook = {
      name: "watch",
      onStepEnd: async (ctx) => void weights.set(ctx.step, await read(ctx)),
      onAfterLoad: async (ctx) => void loaded.push(await read(ctx)),
    };
    const save: Hook = { name: "save", onStepEnd: (ctx) => void (ctx.step % 2 === 0 && ctx.requestSave()) };
    const hook = lossSpike(spike);
    await using trainer = tinyTrainer({
      train: new DataLoader(() => batches(bad)),
      optimizer: sgd({ lr: 0.01, momentum: 0.9 }),
      hooks: [hook, watch, save],
      store: memoryStore(),
      save: "sync",
      maxRollbacks,
    });
    const plan = trainer.explainPlan();
    return { plan, result: await trainer.fit(), weights, loaded, state: await savedState(hook) };
  }

  test("the update that learned the spike is undone; the window goes on", async () => {
    const { plan, result, weights, loaded, state } = await goBack([14]);
    expect(plan).toMatch(/^fused/);
    expect(loaded).toEqual([weights.get(14)]);
    expect(weights.get(15)).not.toEqual(weights.get(14));
    expect(result.interventions.filter(({ who }) => who === "lossSpike")).toEqual([
      expect.objectContaining({
        step: 15,
        event: "stepEnd",
        why: expect.stringMatching(/^loss \S+ is above/) as string,
      }),
    ]);
    expect(result).toMatchObject({ status: "completed", steps: BATCHES });
    expect(state.json).toMatchObject({ quietUntil: 25, losses: { length: BATCHES } });

    // Step 15 is gone, its momentum too, as if the batch had never been.
    const without = await run(() => batches([14], true), []);
    expect(weights.get(BATCHES)).toEqual(without.state[0]);
  });

  test("rests for 10 steps, or as it is told, and stops after maxRollbacks", async () => {
    const steps = async (spike: LossSpikeOptions, maxRollbacks?: number) => {
      const { result, loaded } = await goBack([14, 17, 20], spike, maxRollbacks);
      return [loaded.length, result.status, result.steps];
    };
    expect(await steps(options)).toEqual([1, "completed", BATCHES]);
    expect(await steps({ ...options, cooldown: 0 })).toEqual([3, "completed", BATCHES]);
    expect(await steps({ ...options, cooldown: 0 }, 1)).toEqual([1, "stopped", 18]);
  });
});

/** Feeds losses, one a step; returns the steps of the spikes. */
function feed(hook: Hook, losses: readonly number[], from = 1): number[] {
  return losses.flatMap((loss, i) => {
    const { ctx, calls } = testContext("afterForward", { loss, step: from + i });
    void hook.onAfterForward!(ctx);
    return calls.map(() => from + i);
  });
}

describe("what is a spike", () => {
  const calm = Array.from({ length: 20 }, (_, i) => 1 + 0.1 * Math.sin(i));

  test("nothing before minHistory", () => {
    expect(feed(lossSpike({ minHistory: 5 }), [1, 1, 1, 1, 9, 9])).toEqual([6]);
  });

  test("by deviations", () => {
    expect(feed(lossSpike({ mad: 5 }), [...calm, 1.3, 2])).toEqual([22]);
    // Both must be exceeded.
    expect(feed(lossSpike({ mad: 5, factor: 3 }), [...calm, 2, 4])).toEqual([22]);
  });

  test("negative losses spike upwards", () => {
    expect(feed(lossSpike({ factor: 2 }), [...calm.map((loss) => -loss), -1.5, 0.5])).toEqual([22]);
  });

  test("NaN is left to nanGuard, Infinity is a spike", () => {
    expect(feed(lossSpike(), [...calm, Number.NaN, Infinity, 1])).toEqual([22]);
  });

  test("a lasting rise becomes the new normal", () => {
    const risen = Array.from({ length: 30 }, () => 5);
    const spikes = feed(lossSpike({ window: 20 }), [...calm, ...risen]);
    expect(spikes.length).toBeGreaterThan(5);
    expect(Math.max(...spikes)).toBeLessThanOrEqual(20 + 11);
  });
});

test("state goes round: window and cooldown", () => {
  const losses = [...Array.from({ length: 12 }, () => 1), Infinity, 9, 9, 9];
  const whole = feed(lossSpike({ cooldown: 2 }), losses);
  expect(whole).toEqual([13, 16]);
  const first = lossSpike({ cooldown: 2 });
  const before = feed(first, losses.slice(0, 14));
  const second = lossSpike({ cooldown: 2 });
  void second.load!(JSON.parse(JSON.stringify(first.state!())) as never, 1);
  expect([...before, ...feed(second, losses.slice(14), 15)]).toEqual(whole);
  expect(second.state!()).not.toEqual(first.state!());
});

test("mistakes are errors at construction", () => {
  expect(() => lossSpike({ factor: 1 })).toThrow(/Expected `factor` to be a number > 1/);
  expect(() => lossSpike({ window: 5, minHistory: 6 })).toThrow(/`minHistory` \(6\) is more than `window` \(5\)/);
  expect(() => lossSpike({ action: "stop" as never })).toThrow(/one of "skip", "lowerLr", "rollback"/);
  expect(() => lossSpike({ cooldwn: 5 } as never)).toThrow(/Did you mean `cooldown`/);
});
