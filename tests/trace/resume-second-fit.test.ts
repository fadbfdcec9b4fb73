// A run in two calls of fit() is the run in one, bit for bit; so is one that starts over, and one with the same seed.
import type { Hook, HostTensors, RunResult, Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import * as nn from "hookline/nn";
import { adamw, cosine, sgd } from "hookline/optim";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";

interface Step {
  readonly step: number;
  readonly epoch: number;
  readonly loss: number;
  readonly lr: number;
}

interface Told {
  readonly steps: Step[];
  /** The first number of every sample, in the order in which they were trained on. */
  readonly order: number[];
}

/** Records every step and the order of the data. */
function recorder(): Hook & Told {
  const told: Told = { steps: [], order: [] };
  return {
    name: "recorder",
    ...told,
    onBatchBegin({ batch }) {
      const { data, shape } = batch.x!;
      for (let i = 0; i < shape[0]!; i++) told.order.push(data[i * shape[1]!]!);
    },
    onStepEnd: ({ step, epoch, loss, lr }) => void told.steps.push({ step, epoch, loss, lr }),
  };
}

/** 22 samples in batches of 4 are six to an epoch, the last of them short. */
const everything = (): TinyOptions => ({
  model: nn.sequential(nn.linear(3, 8), nn.tanh(), nn.dropout(0.3), nn.linear(8, 1)),
  optimizer: sgd({ lr: 0.1, momentum: 0.9, weightDecay: 0.01 }),
  schedule: cosine({ warmup: 3, total: 12 }),
  train: new DataLoader(tinyData(22), { batchSize: 4, shuffle: true }),
  accumulate: 2,
  clipNorm: 1,
  seed: 11,
});

const settings: Readonly<Record<string, () => TinyOptions>> = {
  "dropout, shuffle, accumulation, momentum, clipping and a schedule": everything,
  "one program per step": () => ({ ...everything(), accumulate: 1 }),
  "adamw and batch norm": () => ({
    ...everything(),
    model: nn.sequential(nn.linear(3, 8), nn.batchNorm(8), nn.tanh(), nn.linear(8, 1)),
    optimizer: adamw({ lr: 0.05 }),
  }),
  "two loaders by chance": () => ({
    ...everything(),
    train: {
      a: new DataLoader(tinyData(10, 2), { batchSize: 4, shuffle: true }),
      b: new DataLoader(tinyData(14, 3), { batchSize: 4, shuffle: true }),
    },
    mix: { strategy: "weighted", weights: { a: 1, b: 2 } },
  }),
  "evaluations in between": () => ({
    ...everything(),
    eval: new DataLoader(tinyData(9, 5), { batchSize: 4 }),
    evalEvery: "2 steps",
    metrics: { mae: nn.mae() },
  }),
};

const bits = (tensors: HostTensors): Record<string, number[]> =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, { data }]) => [name, [...new Uint32Array(data.slice().buffer)]]),
  );

async function outcome(trainer: Trainer, told: Told) {
  return { params: bits(await trainer.stateDict()), steps: [...told.steps], order: [...told.order] };
}

async function run(options: TinyOptions, ...limits: readonly { steps: number }[]) {
  const told = recorder();
  await using trainer = tinyTrainer({ ...options, hooks: [told], epochs: 1000 });
  let result: RunResult | undefined;
  for (const limit of limits) result = await trainer.fit(limit);
  expect(result).toMatchObject({ status: "completed", steps: limits.at(-1)!.steps });
  return { ...(await outcome(trainer, told)), metrics: result!.metrics };
}

const rounded = (metrics: Readonly<Record<string, number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, value.toPrecision(5)]));

/** Everything to the bit but the metrics, see below. */
function expectSame(actual: Awaited<ReturnType<typeof run>>, { metrics, ...expected }: typeof actual): void {
  expect(actual).toMatchObject(expected);
  expect(rounded(actual.metrics)).toEqual(rounded(metrics));
}

describe.each(Object.keys(settings))("%s", (name) => {
  it("is the same in one fit, in two and in many", async () => {
    const options = settings[name]!;
    const whole = await run(options(), { steps: 12 });
    expect(whole.steps).toHaveLength(12);
    // Over the end of an epoch, or nothing of its order would be tested.
    expect(whole.steps.at(-1)!.epoch).toBeGreaterThan(0);
    expectSame(await run(options(), { steps: 5 }, { steps: 12 }), whole);
    expectSame(await run(options(), ...Array.from({ length: 12 }, (_, i) => ({ steps: i + 1 }))), whole);
  });

  it("is the same from a new start", async () => {
    const told = recorder();
    await using trainer = tinyTrainer({ ...settings[name]!(), hooks: [told], epochs: 1000 });
    await trainer.fit({ steps: 5 });
    told.steps.length = 0;
    told.order.length = 0;
    await trainer.fit({ steps: 12, restart: true });
    const { metrics: _, ...fresh } = await run(settings[name]!(), { steps: 12 });
    expect(await outcome(trainer, told)).toEqual(fresh);
  });
});

describe("the seed", () => {
  it("makes two runs the same to the bit", async () => {
    expect(await run(everything(), { steps: 8 })).toEqual(await run(everything(), { steps: 8 }));
  });

  it("changes initial parameters, dropout and order", async () => {
    const one = await run({ ...everything(), seed: 1 }, { steps: 4 });
    const other = await run({ ...everything(), seed: 2 }, { steps: 4 });
    expect(other.params).not.toEqual(one.params);
    expect(other.order).not.toEqual(one.order);
    expect(other.steps[0]!.loss).not.toBe(one.steps[0]!.loss);
  });

  it("decides about dropout alone where all else is fixed", async () => {
    const weights = await tinyTrainer(everything()).stateDict();
    const first = async (seed: number): Promise<number> => {
      const told = recorder();
      const train = new DataLoader(tinyData(22), { batchSize: 4 });
      const trainer = tinyTrainer({ ...everything(), train, seed, steps: 1, hooks: [told] });
      await trainer.loadStateDict(weights);
      await trainer.fit();
      return told.steps[0]!.loss;
    };
    expect(await first(1)).toBe(await first(1));
    expect(await first(1)).not.toBe(await first(2));
  });
});

describe("the metrics of an epoch", () => {
  const options = (): TinyOptions => ({ ...everything(), accumulate: 1 });

  it("are those of the whole epoch, though two fits share it", async () => {
    const whole = await run(options(), { steps: 6 });
    const parts = await run(options(), { steps: 2 }, { steps: 6 });
    expect(parts.metrics["train/loss"]).toBeCloseTo(whole.metrics["train/loss"]!, 5);
    expect(parts.metrics["train/loss"]).not.toBeCloseTo(whole.steps.at(-1)!.loss, 5);
  });

  // The sums on the device are read and set to zero at the end of a fit and whenever someone looks, which rounds them elsewhere.
  it("are the same to the bit in two fits", async () => {
    const whole = await run(options(), { steps: 6 });
    expect((await run(options(), { steps: 1 }, { steps: 2 }, { steps: 6 })).metrics).toEqual(whole.metrics);
  });

  it("are the same to the bit when a hook reads avgLoss", async () => {
    const metrics = async (hooks: readonly Hook[]) => (await tinyTrainer({ ...options(), hooks }).fit()).metrics;
    const watch: Hook = { name: "watch", onStepEnd: (ctx) => void ctx.avgLoss };
    expect(await metrics([watch])).toEqual(await metrics([]));
  });
});
