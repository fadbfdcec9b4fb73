// Several trainers in one process as the ranks of one run: what can be seen without a launcher.
import { earlyStopping, ema, modelCheckpoint, type Hook, type RunResult, type Trainer } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import { batchNorm, dropout, linear, sequential, tanh } from "hookline/nn";
import { sgd } from "hookline/optim";
import { tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { localRanks } from "../support/local-ranks.ts";
import { tempDir } from "../support/temp-dir.ts";

interface Ran {
  readonly results: readonly RunResult[];
  readonly trainers: readonly Trainer[];
}

/** Trains on `size` ranks at once; `options` may differ from rank to rank. */
async function train(size: number, options: (rank: number) => TinyOptions, resume?: string): Promise<Ran> {
  const trainers = localRanks(size).map((strategy) => tinyTrainer({ strategy, ...options(strategy.rank) }));
  const results = await Promise.all(trainers.map((trainer) => trainer.fit(resume === undefined ? {} : { resume })));
  return { results, trainers };
}

const weights = async (trainer: Trainer): Promise<Record<string, number[]>> =>
  Object.fromEntries(Object.entries(await trainer.stateDict()).map(([name, { data }]) => [name, [...data]]));

async function sameWeights(trainers: readonly Trainer[]): Promise<Record<string, number[]>> {
  const [main, ...others] = await Promise.all(trainers.map(weights));
  for (const other of others) expect(other).toEqual(main);
  return main!;
}

describe("what all ranks have", () => {
  it("counters of the whole batches, tokens too", async () => {
    const seen: number[][] = [];
    const hook: Hook = {
      name: "look",
      onTrainEnd: (ctx) => void seen.push([ctx.rank, ctx.worldSize, ctx.samplesSeen, ctx.tokensSeen]),
    };
    await train(2, () => ({ samples: 10, tokens: (batch) => batch.x!.data.length, hooks: [hook] }));
    // Ranks end in any order.
    expect(seen.toSorted(([a], [b]) => a! - b!)).toEqual([
      [0, 2, 10, 30],
      [1, 2, 10, 30],
    ]);
  });

  it("the statistics of batch norm: the weighted mean over the ranks", async () => {
    const model = sequential(linear(3, 4), batchNorm(4), tanh(), linear(4, 1));
    const { trainers } = await train(3, () => ({ model, samples: 14, batchSize: 8 }));
    const { "1.num_batches_tracked": batches, "1.running_mean": mean } = await sameWeights(trainers);
    expect(batches).toEqual([2]);
    expect(mean!.some((value) => value !== 0)).toBe(true);
  });

  it("recomputed statistics of averaged weights: those of all ranks' batches", async () => {
    const model = sequential(linear(3, 4), batchNorm(4), tanh(), linear(4, 1));
    const options = { model, samples: 24, batchSize: 8, epochs: 2 };
    const { trainers } = await train(2, () => ({ ...options, hooks: [ema({ decay: 0.5, apply: "end" })] }));
    const { "1.running_mean": mean } = await sameWeights(trainers);
    await using alone = tinyTrainer({ ...options, hooks: [ema({ decay: 0.5, apply: "end" })] });
    await alone.fit();
    // Statistics of half a batch vary more, but their mean is near that of whole batches.
    const { "1.running_mean": expected } = await weights(alone);
    for (const [i, value] of expected!.entries()) expect(mean![i]).toBeCloseTo(value, 1);
  });

  it("dropout of each rank's own", async () => {
    const masks: string[] = [];
    const model = sequential(dropout(0.5), linear(3, 1));
    const ones = {
      x: { data: new Float32Array(24).fill(1), shape: [8, 3] },
      y: { data: new Float32Array(8), shape: [8, 1] },
    };
    const hook: Hook = {
      name: "look",
      needs: ["outputs"],
      onBatchEnd: (ctx) => void masks.push(JSON.stringify(ctx.outputs)),
    };
    const { trainers } = await train(2, () => ({
      model,
      train: new DataLoader(ones, { batchSize: 8 }),
      hooks: [hook],
    }));
    expect(new Set(masks).size).toBe(2);
    await sameWeights(trainers);
  });

  it("averages and early stops by memory", async () => {
    const hooks = () => [
      ema({ decay: 0.5 }),
      earlyStopping({ monitor: "val/loss", patience: 1, minDelta: 100, restoreBest: "memory" }),
    ];
    const { trainers, results } = await train(2, () => ({
      epochs: 5,
      eval: new DataLoader(tinyData(9), { batchSize: 4 }),
      hooks: hooks(),
    }));
    expect(results.map(({ steps, status }) => [steps, status])).toEqual([
      [8, "stopped"],
      [8, "stopped"],
    ]);
    await sameWeights(trainers);
  });

  it("several optimizers, each for a loader", async () => {
    const optimizer = {
      body: sgd({ lr: 0.1, params: "0.", loader: "a" }),
      head: sgd({ lr: 0.01, params: "1.", loader: "b" }),
    };
    const { trainers, results } = await train(2, () => ({
      model: sequential(linear(3, 2), linear(2, 1)),
      optimizer,
      train: { a: new DataLoader(tinyData(8), { batchSize: 4 }), b: new DataLoader(tinyData(7, 2), { batchSize: 4 }) },
      accumulate: 2,
    }));
    const [alone] = (
      await train(1, () => ({
        model: sequential(linear(3, 2), linear(2, 1)),
        optimizer,
        train: {
          a: new DataLoader(tinyData(8), { batchSize: 4 }),
          b: new DataLoader(tinyData(7, 2), { batchSize: 4 }),
        },
        accumulate: 2,
      }))
    ).results;
    await sameWeights(trainers);
    expect(results[0]!.steps).toBe(alone!.steps);
    expect(results[0]!.metrics["train/loss"]).toBeCloseTo(alone!.metrics["train/loss"]!, 5);
  });

  it("time is the main rank's: cadences and limits in minutes agree", async () => {
    const evaluated: [number, number][] = [];
    const hook: Hook = {
      name: "uneven",
      onStepEnd: (ctx) => new Promise((resolve) => void setTimeout(resolve, ctx.rank === 1 ? 3 : 0)),
      onEvalBegin: (ctx) => void evaluated.push([ctx.rank, ctx.step]),
    };
    const { results } = await train(2, () => ({
      maxTime: 200,
      evalEvery: "20 ms",
      eval: new DataLoader(tinyData(4), { batchSize: 4 }),
      hooks: [hook],
    }));
    expect(results[0]!.steps).toBe(results[1]!.steps);
    expect(results[0]!.elapsed).toBe(results[1]!.elapsed);
    const of = (rank: number) => evaluated.filter(([each]) => each === rank).map(([, step]) => step);
    expect(of(0).length).toBeGreaterThan(1);
    expect(of(1)).toEqual(of(0));
  });
});

it.each([
  [2, 4],
  [3, 4],
  [3, 5],
])("whoever looks at the gradients of %i ranks, at batches of %i, changes no bit", async (size, batchSize) => {
  const looking: Hook = { name: "looking", onAfterBackward: (ctx) => void ctx.grads.names };
  const plain = await train(size, () => ({ batchSize, epochs: 2 }));
  const seen = await train(size, () => ({ batchSize, epochs: 2, hooks: [looking] }));
  expect(await sameWeights(seen.trainers)).toEqual(await sameWeights(plain.trainers));
});

it("a second fit goes on, and one that restarts begins anew, on all ranks", async () => {
  const { trainers } = await train(2, () => ({ epochs: 1 }));
  const once = await sameWeights(trainers);
  await Promise.all(trainers.map((trainer) => trainer.fit({ epochs: 2 })));
  expect(await sameWeights(trainers)).not.toEqual(once);
  const again = await Promise.all(trainers.map((trainer) => trainer.fit({ epochs: 1, restart: true })));
  expect(again.map(({ steps }) => steps)).toEqual([4, 4]);
  expect(await sameWeights(trainers)).toEqual(once);
});

describe("evaluate and predict", () => {
  it("share the one, and do the other on each", async () => {
    const test = () => new DataLoader(tinyData(11, 4), { batchSize: 4 });
    const { trainers } = await train(3, () => ({ samples: 16 }));
    const alone = tinyTrainer();
    await alone.loadStateDict(await trainers[0]!.stateDict());
    const expected = await alone.evaluate(test());
    const metrics = await Promise.all(trainers.map((trainer) => trainer.evaluate(test())));
    for (const each of metrics) {
      expect(each).toEqual(metrics[0]);
      expect(each["test/loss"]).toBeCloseTo(expected["test/loss"]!, 6);
    }
    const outputs = await Promise.all(trainers.map((trainer) => trainer.predict(test())));
    for (const each of outputs) expect(each).toEqual(await alone.predict(test()));
  });
});

describe("checkpoints", () => {
  const counting = (log: number[]): Hook => {
    let steps = 0;
    return {
      name: "counting",
      onStepEnd: () => void steps++,
      onTrainEnd: () => void log.push(steps),
      state: () => ({ json: steps }),
      load: ({ json }) => void (steps = json as number),
    };
  };

  it("a rank without a place for any goes on from what the main rank reads, its hooks too", async () => {
    const store = memoryStore();
    const counts: number[] = [];
    const options = (rank: number, epochs: number): TinyOptions => ({
      epochs,
      ...(rank === 0 && { store }),
      hooks: [counting(counts), ...(rank === 0 ? [modelCheckpoint()] : [])],
    });
    await train(2, (rank) => options(rank, 1));
    const { trainers, results } = await train(2, (rank) => options(rank, 2), "auto");
    expect(counts).toEqual([4, 4, 8, 8]);
    expect(results.map(({ resumed }) => resumed?.step)).toEqual([4, 4]);
    const whole = await train(2, () => ({ epochs: 2 }));
    expect(await sameWeights(trainers)).toEqual(await sameWeights(whole.trainers));
  });

  it("the best one is put in place on all, from the main rank's directory", async () => {
    const runDir = tempDir();
    // The rate makes each epoch worse than the one before.
    const { trainers, results } = await train(2, () => ({
      runDir,
      epochs: 6,
      optimizer: sgd({ lr: 1.5 }),
      eval: new DataLoader(tinyData(9), { batchSize: 4 }),
      hooks: [
        modelCheckpoint({ monitor: "val/loss", saveTopK: 2 }),
        earlyStopping({ monitor: "val/loss", patience: 2, restoreBest: "checkpoint" }),
      ],
    }));
    expect(results[1]!.status).toBe("stopped");
    for (const { interventions } of results)
      expect(interventions.at(-1)).toMatchObject({ who: "earlyStopping", what: "setParams", event: "trainEnd" });
    await sameWeights(trainers);
  });

  it("events of saving are the main rank's", async () => {
    const events: [number, string][] = [];
    const look: Hook = {
      name: "look",
      onBeforeSave: (ctx) => void events.push([ctx.rank, "beforeSave"]),
      onAfterSave: (ctx) => void events.push([ctx.rank, "afterSave"]),
    };
    await train(2, () => ({ store: memoryStore(), save: "sync", hooks: [look, modelCheckpoint()] }));
    expect(new Set(events.map(([rank]) => rank))).toEqual(new Set([0]));
  });
});

describe("a hook for the main rank", () => {
  it("listens there alone", async () => {
    const ranks: number[] = [];
    await train(3, () => ({
      hooks: [{ name: "main", ranks: "main", onTrainBegin: (ctx) => void ranks.push(ctx.rank) }],
    }));
    expect(ranks).toEqual([0]);
  });

  it.each([
    ["setUpdate", (): Hook => ({ name: "main", ranks: "main", onStepEnd: (ctx) => ctx.setUpdate(null) })],
    ["grads.scale", (): Hook => ({ name: "main", ranks: "main", onBeforeOptimizerStep: (ctx) => ctx.grads.scale(2) })],
  ])("cannot call %s, which no other would know of", async (verb, hook) => {
    // The other rank would wait for this one: nobody ends it here.
    const [main] = localRanks(2).map((strategy) =>
      tinyTrainer({ strategy, warn: () => undefined, hooks: [hook()] }).fit(),
    );
    await expect(main).rejects.toThrow(`ctx.${verb}`);
  });
});

it("an unknown strategy is an error that knows the nearest", () => {
  expect(() => tinyTrainer({ strategy: "mpl" as "mpi" })).toThrow(/`strategy`.*"mpi"/);
});
