// Metrics whose sums are arrays, that have several values, or that keep the rows of an evaluation.
import { numpy as np } from "@jax-js/jax";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../../checkpoint/stores/memory-store.ts";
import type { ArrayMetric, RowMetric, Tensor } from "../../core/model.ts";
import { DataLoader } from "../../data/data-loader.ts";
import { earlyStopping } from "../../hooks/early-stopping/early-stopping.ts";
import { linear } from "../../nn/basic.ts";
import { crossEntropy } from "../../nn/losses/cross-entropy.ts";
import { f1 } from "../../nn/metrics/class-scores.ts";
import { rocAuc } from "../../nn/metrics/ranking.ts";
import { tinyData, tinyTrainer, type TinyOptions } from "../../testing/tiny.ts";

const labelled = (rows: number) => ({
  x: tinyData(rows).x,
  y: Int32Array.from({ length: rows }, (_, i) => (i * i) % 3),
});
const animals = { names: ["cat", "dog", "owl"], perClass: true };
const classifier = (options: TinyOptions = {}) =>
  tinyTrainer({
    model: linear(3, 3),
    loss: crossEntropy(),
    metrics: { f1: f1(animals) },
    train: new DataLoader(labelled(24), { batchSize: 8 }),
    eval: new DataLoader(labelled(12), { batchSize: 5 }),
    ...options,
  });

/** Sums of each output column. */
const columns: ArrayMetric = {
  size: 3,
  values: ["first", "last"],
  update: (outputs) => ({ sums: (outputs as Tensor).sum(0) }),
  compute: ({ sums }) => ({ first: sums!.data[0]!, last: sums!.data.at(-1)! }),
};

describe("several values", () => {
  it("come by name, in training and evaluation, for each batch too", async () => {
    const seen: string[][] = [];
    const trainer = classifier({
      hooks: [
        { name: "look", needs: ["batchMetrics"], onStepEnd: (ctx) => void seen.push(Object.keys(ctx.batchMetrics)) },
      ],
    });
    const { metrics } = await trainer.fit();
    const names = ["f1", "f1/cat", "f1/dog", "f1/owl"];
    for (const feed of ["train", "val"])
      for (const name of names) expect(metrics[`${feed}/${name}`]).toBeTypeOf("number");
    const { "val/f1": mean, "val/f1/cat": cat, "val/f1/dog": dog, "val/f1/owl": owl } = metrics;
    expect(mean).toBeCloseTo((cat! + dog! + owl!) / 3, 12);
    expect(seen[0]).toEqual(names);
    await trainer.close();
  });

  it("can be watched by name, and a typo is found before the first step", async () => {
    const stopper = earlyStopping({ monitor: "val/f1/dog", mode: "max" });
    await expect(classifier({ hooks: [stopper] }).fit()).resolves.toBeDefined();
    const typo = earlyStopping({ monitor: "val/f1/dgo", mode: "max" });
    await expect(classifier({ hooks: [typo] }).fit()).rejects.toThrow("Did you mean `val/f1/dog`?");
    const unnamed = earlyStopping({ monitor: "val/f1/2", mode: "max" });
    const metrics = { f1: f1({ perClass: true }) };
    await expect(classifier({ hooks: [unnamed], metrics }).fit()).resolves.toBeDefined();
  });
});

it("resumes array sums in mid-epoch", async () => {
  const run = (store: ReturnType<typeof memoryStore>) =>
    classifier({
      store,
      metrics: { columns, f1: f1(animals) },
      epochs: 2,
      hooks: [{ name: "save", onStepEnd: (ctx) => void (ctx.step === 2 && ctx.requestSave()) }],
    });
  const store = memoryStore();
  const { metrics: expected } = await run(store).fit();
  const name = (await store.list()).find(({ step }) => step === 2)!.name;
  const { metrics: found } = await run(store).fit({ resume: name });
  expect(found).toEqual(expected);
  expect(Object.keys(found)).toContain("train/columns/last");
});

describe("mistakes of array metrics", () => {
  const fit = async (metric: object): Promise<unknown> =>
    classifier({ metrics: { mine: { ...columns, ...metric } as ArrayMetric } }).fit();

  it.each([
    ["no room", { size: 2 }, "its sums have 3 numbers, and its `size` is 2"],
    ["no size", { size: 0 }, "Expected `metrics.mine.size` to be a whole number ≥ 1, got `0`"],
    ["no arrays", { update: () => ({ sums: 3 }) }, "update() must return arrays by name"],
    ["no numbers", { compute: () => ({ first: "1" }) }, "compute() must return a number, or numbers by name"],
  ])("%s", async (_, metric, message) => {
    await expect(async () => fit(metric)).rejects.toThrow(message);
  });

  it("more classes than there is room or names for", async () => {
    const metrics = { f1: f1({ classes: 2 }) };
    await expect(classifier({ metrics }).fit()).rejects.toThrow(
      "room for 2 classes, and the model has 3. Give it `classes: 3`",
    );
    await expect(classifier({ metrics: { f1: f1({ names: ["a", "b"] }) } }).fit()).rejects.toThrow(
      "there are 2 `names` for 3 classes",
    );
    await expect(classifier({ metrics: { f1: f1({ average: "binary" }) } }).fit()).rejects.toThrow(
      '`average: "binary"` is for two classes, and the model has 3',
    );
  });
});

describe("rows of an evaluation", () => {
  /** The largest output of the evaluation. */
  const largest: RowMetric = {
    maxRows: 100,
    update: (outputs) => ({ largest: np.max(outputs as Tensor, 1) }),
    compute: ({ largest: rows }) => ({ "": Math.max(...rows!.data), rows: rows!.shape[0]! }),
  };

  it("are kept over batches, for evaluations alone, each from its beginning", async () => {
    const trainer = classifier({ metrics: { largest, auc: rocAuc() }, epochs: 2 });
    const { metrics } = await trainer.fit();
    expect(metrics["val/largest/rows"]).toBe(12);
    expect(Object.keys(metrics).filter((name) => name.startsWith("train/"))).toEqual(["train/loss"]);
    const { data } = (await trainer.predict(new DataLoader({ x: labelled(12).x }, { batchSize: 12 }))) as {
      data: Float32Array;
    };
    expect(metrics["val/largest"]).toBeCloseTo(Math.max(...data), 6);
    expect(metrics["val/auc"]).toBeGreaterThan(0);
    await trainer.close();
  });

  it("are limited, with an error that says what to do", async () => {
    await expect(classifier({ metrics: { auc: rocAuc({ maxRows: 11 }) } }).fit()).rejects.toThrow(
      "Metric `auc` keeps every row of an evaluation in memory, at most 11 of them (its `maxRows`), and this evaluation has more.",
    );
  });

  it("must be arrays of as many rows", async () => {
    const update = (outputs: unknown) => ({ a: (outputs as Tensor).ref.sum(1), b: (outputs as Tensor).sum(0) });
    await expect(classifier({ metrics: { mine: { ...largest, update } } }).fit()).rejects.toThrow(
      "arrays by name with the same number of rows, such as { scores, labels }; `b` is of shape [3]",
    );
  });
});
