// What users write: metrics of version 0.1 as they were, those with arrays or rows, and the options of the built-in ones.
import {
  type AnyMetric,
  type ArrayMetric,
  type Metric,
  type RowMetric,
  type Tensor,
  Trainer,
  type TrainerOptions,
} from "hookline";
import { DataLoader } from "hookline/data";
import { numpy as np } from "hookline/jax";
import { accuracy, bceWithLogits, confusionMatrix, crossEntropy, f1, linear, mse, rocAuc } from "hookline/nn";
import { sgd } from "hookline/optim";
import { expectTypeOf, test } from "vitest";

const train = new DataLoader({ x: new Float32Array(4), y: new Float32Array(4) }, { batchSize: 2 });
const base = {
  model: linear(1, 1),
  loss: mse(),
  optimizer: sgd({ lr: 0.1 }),
  train,
  epochs: 1,
} satisfies TrainerOptions;

test("a metric of version 0.1", () => {
  const within = (limit: number): Metric => ({
    evalOnly: true,
    update(outputs, batch) {
      const near = np.abs((outputs as Tensor).sub(batch["y"]!)).less(limit);
      return { near: np.sum(near.astype(np.float32)), count: np.array(4) };
    },
    compute: ({ near, count }) => near! / count!,
  });
  const metrics: Record<string, Metric> = {
    within: within(0.5),
    accuracy: accuracy(),
    own: { ...accuracy(), evalOnly: true },
  };
  void new Trainer({ ...base, metrics });
  expectTypeOf(within(1).compute({ near: 1, count: 2 })).toEqualTypeOf<number>();
  expectTypeOf(accuracy()).toEqualTypeOf<Metric>();
});

test("sums that are arrays, and several values", () => {
  const columns: ArrayMetric = {
    size: 3,
    values: ["first", "last"],
    update: (outputs) => ({ sums: (outputs as Tensor).sum(0) }),
    compute: ({ sums }) => ({ first: sums!.data[0]!, last: sums!.data.at(-1)! }),
  };
  void new Trainer({ ...base, metrics: { columns, f1: f1(), confusion: confusionMatrix() } });
  // @ts-expect-error -- room for its sums must be said
  const noSize: ArrayMetric = { update: columns.update, compute: columns.compute };
  // @ts-expect-error -- numbers by name
  const texts: ArrayMetric = { ...columns, compute: () => ({ first: "1" }) };
  // @ts-expect-error -- without a size it is a metric of scalars, which has one value
  void new Trainer({ ...base, metrics: { columns: { update: columns.update, compute: () => ({ first: 1 }) } } });
  void [noSize, texts];
});

test("rows of an evaluation", () => {
  const largest: RowMetric = {
    maxRows: 1000,
    update: (outputs) => ({ largest: np.max(outputs as Tensor, 1) }),
    compute: ({ largest: rows }) => Math.max(...rows!.data),
  };
  const all: AnyMetric[] = [largest, rocAuc(), accuracy(), f1()];
  void new Trainer({ ...base, metrics: Object.fromEntries(all.map((metric, i) => [`m${i}`, metric])) });
});

test("options", () => {
  f1({ average: "micro", names: ["a", "b"], perClass: true });
  // @ts-expect-error -- no such average
  f1({ average: "mean" });
  crossEntropy({ classWeights: "balanced" });
  crossEntropy({ classWeights: [1, 2] });
  // @ts-expect-error -- one for each class
  crossEntropy({ classWeights: 2 });
  bceWithLogits({ posWeight: "balanced", labelSmoothing: 0.1 });
  const data = { x: new Float32Array(4), y: new Float32Array(4) };
  void new DataLoader(data, { batchSize: 2, sampling: { balanced: "y" } });
  void new DataLoader(data, { batchSize: 2, sampling: { weights: new Float32Array(4) } });
  // @ts-expect-error -- no such sampling
  void new DataLoader(data, { batchSize: 2, sampling: { random: "y" } });
  // @ts-expect-error -- `pad` must say what samples are padded with
  void new DataLoader([{ tokens: [1] }], { batchSize: 2, buckets: { by: "tokens", lengths: [4] } });
});
