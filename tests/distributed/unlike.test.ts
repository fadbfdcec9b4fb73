// Ranks that were not started alike: they find out before the first step, and the error names what differs on which rank.
import type { Metric, RunResult, Strategy, Tensor, Trainer } from "hookline";
import { DistributedError } from "hookline";
import { DataLoader, type Loader } from "hookline/data";
import { Experiment } from "hookline/experiment";
import { linear, mse, sequential } from "hookline/nn";
import { adamw, cosine, sgd } from "hookline/optim";
import { testEngine, tinyData, tinyTrainer, type TinyOptions } from "hookline/testing";
import { describe, expect, it } from "vitest";
import { localRanks } from "../support/local-ranks.ts";
import { tempDir } from "../support/temp-dir.ts";
import { CHILD } from "./play.ts";
import { mpirunWorks, runRanks } from "./ranks.ts";
import type { Scene } from "./scene.ts";

const quiet = { warn: () => undefined };

/** What each rank's call ended with. */
async function outcomes<T>(
  size: number,
  options: (rank: number) => TinyOptions,
  call: (trainer: Trainer, rank: number) => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  const ranks = localRanks(size);
  return Promise.allSettled(
    ranks.map((strategy) => call(tinyTrainer({ strategy, ...quiet, ...options(strategy.rank) }), strategy.rank)),
  );
}

const fitAll = (
  options: (rank: number) => TinyOptions,
  fit: (rank: number) => Parameters<Trainer["fit"]>[0] = () => ({}),
  size = 2,
): Promise<PromiseSettledResult<RunResult>[]> => outcomes(size, options, (trainer, rank) => trainer.fit(fit(rank)));

/** The one message with which all ranks failed. */
function messageOf(ended: readonly PromiseSettledResult<unknown>[]): string {
  const errors = ended.map((each) => (each as PromiseRejectedResult).reason as Error);
  for (const error of errors) expect(error).toBeInstanceOf(DistributedError);
  expect(new Set(errors.map(({ message }) => message)).size).toBe(1);
  return errors[0]!.message;
}

/** `a` on rank 0 and `b` on rank 1. */
const either =
  (a: TinyOptions, b: TinyOptions) =>
  (rank: number): TinyOptions =>
    rank === 0 ? a : b;

const shuffled = (seed: number) => new DataLoader(tinyData(16), { batchSize: 4, shuffle: true, seed });
const loaderOf = (data: ReturnType<typeof tinyData>, batchSize = 4): Loader => new DataLoader(data, { batchSize });

describe("before the first step, all ranks fail and name", () => {
  it.each<[string, TinyOptions, TinyOptions, string]>([
    ["the seed", { seed: 1 }, { seed: 2 }, "`seed`: rank 1 has 2, rank 0 has 1"],
    ["an option that one leaves out", { clipNorm: 1 }, {}, "`clipNorm`: rank 1 has none, rank 0 has 1"],
    ["epochs", { epochs: 2 }, { epochs: 3 }, "`epochs`: rank 1 has 3, rank 0 has 2"],
    ["micro-batches", { accumulate: 2 }, { accumulate: 4 }, "`accumulate`: rank 1 has 4, rank 0 has 2"],
    [
      "a learning rate",
      { optimizer: sgd({ lr: 0.1 }) },
      { optimizer: sgd({ lr: 0.2 }) },
      "optimizer `optimizer`, lr: rank 1 has 0.2, rank 0 has 0.1",
    ],
    [
      "what else an optimizer is made with",
      { optimizer: adamw({ lr: 0.1 }) },
      { optimizer: adamw({ lr: 0.1, betas: [0.9, 0.95] }) },
      "optimizer `optimizer`, constants",
    ],
    [
      "which optimizer",
      { optimizer: sgd({ lr: 0.1 }) },
      { optimizer: adamw({ lr: 0.1 }) },
      'optimizer `optimizer`, kind: rank 1 has "adamw", rank 0 has "sgd"',
    ],
    [
      "a schedule's warmup",
      { schedule: cosine({ warmup: 2 }) },
      { schedule: cosine({ warmup: 3 }) },
      "optimizer `optimizer`, schedule at step 1",
    ],
    ["the loss", { loss: mse() }, { loss: (y) => (y as Tensor).sum() }, "`loss`"],
    ["the metrics", { metrics: {} }, { metrics: { error: someMetric() } }, "metric `error`"],
    [
      "the shape of a parameter",
      { model: sequential(linear(3, 2), linear(2, 1)) },
      { model: sequential(linear(3, 4), linear(4, 1)) },
      "parameter `0.weight`: rank 1 has float32 [4, 3], rank 0 has float32 [2, 3]",
    ],
    [
      "a parameter that one has not",
      { model: sequential(linear(3, 1)) },
      { model: sequential(linear(3, 1, { bias: false })) },
      "parameter `0.bias`: rank 1 has none, rank 0 has float32 [1]",
    ],
    [
      "the size of the batches",
      { batchSize: 4 },
      { batchSize: 8 },
      "loader `train`, batches: rank 1 has 2, rank 0 has 4",
    ],
    ["the amount of data", { samples: 16 }, { samples: 20 }, "loader `train`, batches: rank 1 has 5, rank 0 has 4"],
    [
      "other data",
      { train: loaderOf(tinyData(16, 1)) },
      { train: loaderOf(tinyData(16, 2)) },
      "loader `train`, first batch: rank 1 has x float32 [4, 3] #",
    ],
    ["data in another order", { train: shuffled(1) }, { train: shuffled(3) }, "loader `train`, first batch"],
    [
      "other data to evaluate",
      { eval: loaderOf(tinyData(8, 1)) },
      { eval: loaderOf(tinyData(8, 2)) },
      "loader `val`, first batch",
    ],
    [
      "no data to evaluate",
      { eval: loaderOf(tinyData(8)) },
      {},
      "loader `val`, batches: rank 1 has none, rank 0 has 2",
    ],
  ])("%s", async (_, a, b, expected) => {
    let steps = 0;
    const hooks = [{ name: "count", onStepEnd: () => void steps++ }];
    const message = messageOf(await fitAll(either({ hooks, ...a }, { hooks, ...b })));
    expect(message).toContain(expected);
    expect(message).toContain("Start all ranks with the same options and the same data");
    expect(steps).toBe(0);
  });

  it("the ranks that agree together, and only so many differences", async () => {
    const message = messageOf(
      await fitAll((rank) => ({ seed: rank === 2 ? 7 : 1, epochs: rank === 1 ? 3 : 2 }), undefined, 4),
    );
    expect(message).toContain("`seed`: rank 2 has 7, ranks 0, 1, 3 have 1");
    expect(message).toContain("`epochs`: rank 1 has 3, ranks 0, 2, 3 have 2");
    const wide = (features: number) => sequential(...Array.from({ length: 30 }, () => linear(features, features)));
    const many = messageOf(await fitAll((rank) => ({ model: wide(rank + 3) })));
    expect(many).toMatch(/and \d+ more/);
    expect(many.split("\n").length).toBeLessThan(15);
  });

  it("what `fit` was given", async () => {
    expect(
      messageOf(
        await fitAll(
          () => ({}),
          (rank) => ({ epochs: rank + 1 }),
        ),
      ),
    ).toContain("`epochs`: rank 1 has 2, rank 0 has 1");
    const runDir = tempDir();
    const resuming = await fitAll(
      () => ({ runDir }),
      (rank) => (rank === 0 ? { resume: "auto" } : {}),
    );
    expect(messageOf(resuming)).toContain("`resume`: rank 1 has none, rank 0 has one");
  });

  it("a rank that has trained before", async () => {
    const [main, other] = localRanks(2).map((strategy) => tinyTrainer({ strategy, ...quiet }));
    await Promise.all([main!.fit(), other!.fit()]);
    const again = await Promise.allSettled([main!.fit({ epochs: 2 }), other!.fit({ epochs: 2, restart: true })]);
    expect(messageOf(again)).toContain("steps done: rank 1 has 0, rank 0 has 4");
  });

  it("the data of an evaluation", async () => {
    const ended = await outcomes(
      2,
      () => ({}),
      (trainer, rank) => trainer.evaluate(loaderOf(tinyData(8, rank))),
    );
    expect(messageOf(ended)).toContain("loader `test`, first batch");
  });
});

it("an experiment's seed and models", async () => {
  const experiment = (strategy: Strategy, models: readonly string[]) =>
    new Experiment({
      data: () => tinyData(16),
      models: Object.fromEntries(models.map((name) => [name, { model: linear(3, 1) }])),
      loss: mse(),
      optimizer: sgd({ lr: 0.1 }),
      engine: testEngine(),
      epochs: 1,
      signals: false,
      seed: strategy.rank,
      strategy,
    });
  const [main, other] = localRanks(2);
  const ended = await Promise.allSettled([experiment(main!, ["a"]).run(), experiment(other!, ["a", "b"]).run()]);
  expect(messageOf(ended)).toContain("`seed`: rank 1 has 1, rank 0 has 0");
  expect(messageOf(ended)).toContain("models: rank 1 has a, b, rank 0 has a");
});

describe("what may differ from rank to rank", () => {
  it("hooks, places, warnings, ways of saving and of ending, values of parameters", async () => {
    const dir = tempDir();
    const ended = await fitAll((rank) => ({
      runDir: `${dir}/${rank}`,
      hooks: rank === 0 ? [{ name: "own", onStepEnd: () => undefined }] : [],
      save: rank === 0 ? "async" : "sync",
      signalGrace: 1000 + rank,
      closeTimeout: 1000 + rank,
      yieldEvery: rank,
      logEvery: rank + 1,
    }));
    expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  });

  it("parameters begin as the main rank has them", async () => {
    const [main, other] = localRanks(2).map((strategy) => tinyTrainer({ strategy, ...quiet }));
    const weights = await main!.stateDict();
    await main!.loadStateDict(
      Object.fromEntries(Object.entries(weights).map(([n, t]) => [n, { ...t, data: t.data.map(() => 1) }])),
    );
    await Promise.all([main!.fit(), other!.fit()]);
    expect(await other!.stateDict()).toEqual(await main!.stateDict());
  });

  it("looking at a first batch takes none away", async () => {
    const seen: number[][] = [[], []];
    await fitAll((rank) => ({
      hooks: [{ name: "look", onBatchBegin: (ctx) => void seen[rank]!.push(...ctx.batch.y!.data) }],
    }));
    const { data } = tinyData(16).y;
    expect(seen[0]!.length).toBe(8);
    expect(
      [0, 1, 2, 3].flatMap((batch) => [
        ...seen[0]!.slice(2 * batch, 2 * batch + 2),
        ...seen[1]!.slice(2 * batch, 2 * batch + 2),
      ]),
    ).toEqual([...data]);
  });
});

describe.skipIf(!mpirunWorks)("through MPI", () => {
  const scene: Scene = { name: "unlike", steps: 5 };
  it.each<[string, Partial<Scene>, string]>([
    ["another seed", { seed: 2 }, "`seed`: rank 1 has 2, rank 0 has 0"],
    ["another learning rate", { lr: 0.5 }, "optimizer `optimizer`, lr: rank 1 has 0.5, rank 0 has 0.01"],
    ["another batch size", { batchSize: 16 }, "loader `train`, batches: rank 1 has 6, rank 0 has 8"],
    ["another length", { steps: 6 }, "`steps`: rank 1 has 6, rank 0 has 5"],
    ["another model", { model: "gpt" }, "parameter `0.weight`: rank 1 has none, rank 0 has float32 [16, 8]"],
  ])("%s", async (_, other, message) => {
    const end = await runRanks(2, CHILD, {
      args: [JSON.stringify([scene]), JSON.stringify([{ ...scene, ...other }])],
    });
    expect(end.code).toBe(1);
    expect(end.stderr).toContain(message);
    expect(end.stderr).not.toContain("MPI_ERR_TRUNCATE");
    expect(end.notes.filter(({ note }) => note === "step")).toEqual([]);
  });
});

function someMetric(): Metric {
  return { update: (y) => ({ sum: (y as Tensor).sum() }), compute: ({ sum }) => sum! };
}
