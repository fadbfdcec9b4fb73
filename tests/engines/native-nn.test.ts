// Every layer, loss, metric and optimizer, and the programs around them: the native engine, or another, computes what wasm
// computes.
import { grad, nn as jaxNn, numpy as np } from "@jax-js/jax";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { HostArray } from "../../src/core/arrays.ts";
import type { AnyMetric, Loss, Model, Tensor, Tensors } from "../../src/core/model.ts";
import type { Optimizer } from "../../src/core/optimizer.ts";
import * as nn from "../../src/nn/index.ts";
import { adam, adamw, lion, rmsprop, sgd } from "../../src/optim/index.ts";
import { clip } from "../../src/trainer/programs/programs.ts";
import { nonFiniteCounts, tensorNorms, tensorStats } from "../../src/trainer/programs/stats.ts";
import { BothEngines, numbers, run, weighed, wholes, withGradients } from "../support/both-engines.ts";
import "../support/iterator-helpers.ts";

let both: BothEngines;
beforeAll(async () => void (both = await BothEngines.create()));
afterAll(() => both.close());

const wide = numbers([2, 5, 12]);
const image = numbers([3, 2, 9, 7]);
const key: HostArray = { data: nn.stepKey(3, 5, 0), shape: [2] };
const tokens = wholes([2, 6], 11);

/** A layer of several parts, with dropout. */
function attentive(): nn.Layer {
  const attention = nn.multiHeadAttention(12, 2, { causal: true, dropout: 0.2 });
  return nn.sequential(nn.residual(nn.sequential(nn.layerNorm(12), attention)), nn.linear(12, 12), nn.tanh());
}

const layers: [name: string, model: Model<Tensor>, input: HostArray][] = [
  ["linear", nn.linear(12, 7), wide],
  ["linear, worth a matrix library", nn.linear(12, 40), numbers([8, 9, 12])],
  ["linear without bias", nn.linear(12, 7, { bias: false }), wide],
  ["conv2d", nn.conv2d(2, 3, { kernel: 3 }), image],
  ["conv2d with stride and padding", nn.conv2d(2, 3, { kernel: 3, stride: 2, padding: 1 }), image],
  ["maxPool2d", nn.maxPool2d(2), image],
  ["maxPool2d that overlaps", nn.maxPool2d(3, { stride: 2, padding: 1 }), image],
  ["avgPool2d", nn.avgPool2d(2), image],
  ["avgPool2d that overlaps", nn.avgPool2d(3, { stride: 2, padding: 1 }), image],
  ["layerNorm", nn.layerNorm(12), wide],
  ["layerNorm without bias", nn.layerNorm(12, { bias: false }), wide],
  ["rmsNorm", nn.rmsNorm(12), wide],
  ["batchNorm", nn.batchNorm(2), image],
  ["batchNorm of vectors", nn.batchNorm(12), numbers([6, 12])],
  ["dropout", nn.dropout(0.4), wide],
  ["multiHeadAttention", nn.multiHeadAttention(12, 3), wide],
  ["multiHeadAttention, causal, with dropout", nn.multiHeadAttention(12, 2, { causal: true, dropout: 0.2 }), wide],
  ["multiHeadAttention, worth a matrix library", nn.multiHeadAttention(32, 2, { causal: true }), numbers([2, 17, 32])],
  ["residual", nn.residual(nn.linear(12, 12)), wide],
  ["remat", nn.remat(attentive()), wide],
  [
    "remat of a layer with buffers",
    nn.remat(nn.sequential(nn.conv2d(2, 2, { kernel: 3, bias: false }), nn.batchNorm(2))),
    image,
  ],
  ["remat in a row", nn.sequential(nn.remat(attentive()), nn.remat(attentive()), nn.remat(nn.flatten())), wide],
  ["remat in remat", nn.remat(nn.sequential(nn.remat(attentive()), nn.gelu(), nn.remat(attentive()))), wide],
  ["flatten", nn.flatten(), image],
  ["relu", nn.relu(), wide],
  ["gelu", nn.gelu(), wide],
  ["gelu by tanh", nn.gelu({ approximate: "tanh" }), wide],
  ["tanh", nn.tanh(), wide],
  ["sigmoid", nn.sigmoid(), wide],
  ["silu", nn.silu(), wide],
  ["leakyRelu", nn.leakyRelu(), wide],
  ["softmax", nn.softmax(), wide],
  ["logSoftmax", nn.logSoftmax(), wide],
  ["sequential", nn.sequential(nn.linear(12, 5), nn.dropout(0.2), nn.relu()), wide],
  ["block", nn.block({ a: nn.linear(12, 12) }, ({ a }, x: Tensor) => a(a(x))), wide],
];

type Backward = (at: { p: Tensors; input: Tensor }) => { p: Tensors; input: Tensor };

/** Outputs, the next buffers, and the gradients of a sum of the outputs by the parameters and the input. */
const layerProgram =
  (model: Model<Tensor>, train: boolean) =>
  (params: Tensors, x: Tensor, state: Tensors, base: Tensor): Tensor[] => {
    const apply = (p: Tensors, input: Tensor): [Tensor, Tensors] => {
      const refs = Object.fromEntries(Object.entries(state).map(([name, buffer]) => [name, buffer.ref]));
      const out = model.apply(p, input, { train, state: refs, key: nn.keyStream(base), loader: "train" });
      return Array.isArray(out) ? (out as [Tensor, Tensors]) : [out as Tensor, {}];
    };
    const kept = Object.fromEntries(Object.entries(params).map(([name, param]) => [name, param.ref]));
    const [y, next] = apply(kept, x.ref);
    const loss = ({ p, input }: { p: Tensors; input: Tensor }): Tensor => weighed(apply(p, input)[0]);
    const backward = (grad(loss as never) as unknown as Backward)({ p: params, input: x });
    return [y, ...Object.values(next), ...Object.values(backward.p), backward.input];
  };

describe.each(layers)("%s", (_, model, input) => {
  test.each([true, false])("train: %s", async (train) => {
    const args = [model.init(nn.initKey(1)), input, model.initState?.() ?? {}, key];
    await expect(both.differences(layerProgram(model, train) as never, args)).resolves.toEqual([]);
  });
});

it("embedding, whose gradient is a scatter", async () => {
  const model = nn.embedding(11, 6);
  const fn = (params: Tensors, ids: Tensor): Tensor[] => {
    const apply = (p: Tensors): Tensor => model.apply(p, ids.ref, {} as never) as Tensor;
    const back = grad((p: Tensors) => np.square(apply(p)).sum()) as unknown as (p: Tensors) => Tensors;
    return [apply({ weight: params.weight!.ref }), back(params).weight!];
  };
  await expect(both.differences(fn as never, [model.init(nn.initKey(1)), tokens])).resolves.toEqual([]);
});

/** Large enough for a kernel of its own. */
test.each([true, false])("jax-js's dotProductAttention and its gradients; causal: %s", async (isCausal) => {
  const attention = (q: Tensor, k: Tensor, v: Tensor): Tensor => jaxNn.dotProductAttention(q, k, v, { isCausal });
  const args = [1, 2, 3].map((salt) => numbers([2, 64, 2, 16], salt, -1, 1));
  await expect(both.differences(withGradients(attention), args)).resolves.toEqual([]);
});

it("dropout drops the same values for the same key, bit by bit", async () => {
  const model = nn.dropout(0.3);
  const fn = (x: Tensor, base: Tensor): Tensor =>
    model.apply({}, x, { train: true, state: {}, key: nn.keyStream(base), loader: "train" }) as Tensor;
  const ones: HostArray = { data: new Float32Array(999).fill(1), shape: [999] };
  const kept = await Promise.all(
    [both.wasm, both.other].map(async (engine) => (await run(engine, fn as never, [ones, key]))[0]!.data),
  );
  expect(kept[1]).toEqual(kept[0]);
  expect(new Set(kept[0])).toEqual(new Set([0, Math.fround(1 / 0.7)]));
});

const logits = numbers([20, 10]);
const labels: HostArray = {
  data: Int32Array.from({ length: 20 }, (_, i) => (i === 5 ? -100 : (i * 3) % 10)),
  shape: [20],
};
const targets = numbers([20, 10], 4);
const shares = numbers([20, 10], 5, 0, 1);

/** The outputs are hidden states: they and their weight, which is made of them, have gradients. */
const deferred =
  (loss: Loss): Loss =>
  (x, y, batch) => {
    const hidden = x as Tensor;
    return loss(nn.deferredLogits(hidden.ref, np.sin(hidden.ref.slice([0, 10])), hidden.sum(0)), y, batch);
  };

test.each<[string, Loss, HostArray]>([
  ["crossEntropy of deferred logits", deferred(nn.crossEntropy({ chunk: 7, labelSmoothing: 0.1 })), labels],
  ["focal of deferred logits", deferred(nn.focal({ chunk: 3, classWeights: [1, 2, 0.5] })), labels],
  ["crossEntropy", nn.crossEntropy(), labels],
  ["crossEntropy with smoothing", nn.crossEntropy({ labelSmoothing: 0.1 }), labels],
  ["mse", nn.mse(), targets],
  ["l1", nn.l1(), targets],
  ["huber", nn.huber(), targets],
  ["bceWithLogits", nn.bceWithLogits({ posWeight: 2 }), shares],
  ["binaryFocal", nn.binaryFocal({ alpha: 0.3 }), shares],
  ["focal", nn.focal({ classWeights: [1, 2, 0.5] }), labels],
])("%s and its gradient", async (_, loss, y) => {
  const fn = (x: Tensor, target: Tensor): Tensor[] => [
    loss(x.ref, target.ref, {}),
    grad((out: Tensor) => loss(out, target.ref, {}).mul(100))(x),
  ];
  await expect(both.differences(fn, [logits, y])).resolves.toEqual([]);
});

test.each<[string, AnyMetric, HostArray]>([
  ["binaryAccuracy", nn.binaryAccuracy(), shares],
  ["f1", nn.f1(), labels],
  ["f1 of labels", nn.f1(), shares],
  ["confusionMatrix", nn.confusionMatrix(), labels],
  ["logLoss", nn.logLoss(), labels],
  ["calibrationError", nn.calibrationError(), labels],
  ["mape", nn.mape(), targets],
  ["rocAuc", nn.rocAuc(), labels],
  ["ndcg", nn.ndcg(), shares],
  ["accuracy", nn.accuracy(), labels],
  ["accuracy among the first three", nn.accuracy({ topK: 3 }), labels],
  ["mae", nn.mae(), targets],
  ["rmse", nn.rmse(), targets],
  ["perplexity", nn.perplexity(), labels],
])(
  "%s",
  async (_, metric, y) =>
    await expect(both.differences((x: Tensor, t: Tensor) => metric.update(x, { y: t }), [logits, y])).resolves.toEqual(
      [],
    ),
);

const shapesOfParams = [[33], [4, 9], [1], []];
test.each<[string, Optimizer]>([
  ["sgd", sgd({ lr: 0.1, weightDecay: 0.01 })],
  ["sgd with momentum", sgd({ lr: 0.1, momentum: 0.9 })],
  ["sgd with nesterov", sgd({ lr: 0.1, momentum: 0.9, nesterov: true })],
  ["adam", adam({ lr: 0.1, weightDecay: 0.01 })],
  ["adamw", adamw({ lr: 0.1 })],
  ["lion", lion({ lr: 0.1 })],
  ["rmsprop", rmsprop({ lr: 0.1 })],
  ["rmsprop, centered with momentum", rmsprop({ lr: 0.1, momentum: 0.9, centered: true })],
])("%s for three steps", async (_, optimizer) => {
  const steps = [1, 2, 3].map((t) => optimizer.hyper(optimizer.defaults, t));
  const hosts = steps.map((hyper) =>
    Object.fromEntries(
      Object.entries(hyper).map(([each, value]) => [each, { data: Float32Array.of(value), shape: [] as number[] }]),
    ),
  );
  const fn = (params: Tensor[], grads: Tensor[], hypers: Tensors[]): Tensor[] =>
    params.flatMap((first, i) => {
      let p = first;
      let slots: Tensors = Object.fromEntries(optimizer.slots.map((slot) => [slot, np.zeros([...p.shape])]));
      for (const [t, h] of hypers.entries()) {
        [p, slots] = optimizer.leaf(p, grads[i]!.ref.mul(t + 1), slots, h);
      }
      return [p, ...Object.values(slots)];
    });
  const arrays = (salt: number): HostArray[] => shapesOfParams.map((shape, i) => numbers(shape, salt + i));
  await expect(both.differences(fn as never, [arrays(1), arrays(9), hosts])).resolves.toEqual([]);
});

const grads = { w: numbers([7, 9]), b: numbers([5], 1), one: numbers([], 2) };
const limit: HostArray = { data: Float32Array.of(0.5), shape: [] };

test.each([["norm"], ["value"], ["norm", "value"]])("clipping by %s %s", async (...by) => {
  const fn = (tensors: Tensors, most: Tensor): Tensor[] => {
    const limits = Object.fromEntries(by.map((kind) => [kind, most.ref]));
    const { grads: clipped, norm, clippedNorm } = clip(tensors, limits);
    return [...Object.values(clipped), norm, clippedNorm];
  };
  await expect(both.differences(fn as never, [grads, limit])).resolves.toEqual([]);
});

it("statistics, percentiles and histograms of tensors", async () => {
  const request = { percentiles: [0, 25, 50, 97.5, 100], bins: 8 };
  await expect(
    both.differences(tensorStats(request) as never, [{ w: numbers([7, 9]), b: numbers([50], 1) }]),
  ).resolves.toEqual([]);
  await expect(both.differences(tensorStats({ percentiles: [], bins: 0 }) as never, [grads])).resolves.toEqual([]);
  await expect(both.differences(tensorNorms as never, [grads])).resolves.toEqual([]);
});

it("counts what is not finite", async () => {
  const bad: HostArray = { data: Float32Array.of(1, Number.NaN, Infinity, -Infinity, 5), shape: [5] };
  await expect(both.differences(nonFiniteCounts as never, [{ bad, good: numbers([9]) }])).resolves.toEqual([]);
  await expect(both.differences(tensorStats({ percentiles: [], bins: 0 }) as never, [{ bad }])).resolves.toEqual([]);
});
