// What saves memory: the numbers stay, and the memory that the native engine plans for a step shrinks.
import { defaultDevice, init, numpy as np, valueAndGrad } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import {
  Trainer,
  type Hook,
  type HostArray,
  type Model,
  type Tensor,
  type Tensors,
  type TrainerOptions,
} from "hookline";
import { DataLoader } from "hookline/data";
import {
  accuracy,
  block,
  crossEntropy,
  deferredLinear,
  deferredLogits,
  dropout,
  embedding,
  gelu,
  initKey,
  keyStream,
  layerNorm,
  linear,
  mse,
  multiHeadAttention,
  remat,
  residual,
  sequential,
  type Layer,
} from "hookline/nn";
import { adamw } from "hookline/optim";
import { lower } from "../../src/engines/lower/lower.ts";
import { trace, type Aval } from "../../src/engines/lower/trace.ts";
import { planArena } from "../../src/engines/native/plan/arena.ts";
import { temporariesInPlace } from "../../src/engines/native/plan/in-place.ts";
import { planGraph } from "../../src/engines/native/plan/plan.ts";
import { testEngine } from "../../src/testing/tiny.ts";

beforeAll(async () => {
  await init("wasm");
  defaultDevice("wasm");
});

type Grads = (fn: (p: Tensors) => Tensor) => (p: Tensors) => [Tensor, Tensors];
const valueAndGrads = valueAndGrad as unknown as Grads;
const f32 = (...shape: number[]): Aval => ({ shape, dtype: "float32" });

/** Bytes between the steps of a training step on two threads. */
function plannedBytes(
  loss: (params: Tensors, batch: Tensors) => Tensor,
  params: Record<string, Aval>,
  batch: Record<string, Aval>,
): number {
  const step = (p: Tensors, given: Tensors): Tensor[] => {
    const [value, grads] = valueAndGrads((at) => loss(at, given))(p);
    return [value, ...Object.values(grads)];
  };
  const plan = planGraph(lower(trace(step, [params, batch])), 2);
  return planArena(plan, temporariesInPlace(plan)).bytes;
}

describe("deferred logits", () => {
  it("need memory for one part of the logits, not for all", () => {
    const [rows, features, classes, chunk] = [512, 16, 2048, 32];
    const params = { hidden: f32(rows, features), weight: f32(classes, features) };
    const labels: Record<string, Aval> = { y: { shape: [rows], dtype: "int32" } };
    const plain = plannedBytes(
      ({ hidden, weight }, { y }) => crossEntropy()(np.inner(hidden!, weight!), y!, {}),
      params,
      labels,
    );
    const chunked = plannedBytes(
      ({ hidden, weight }, { y }) => crossEntropy({ chunk })(deferredLogits(hidden!, weight!), y!, {}),
      params,
      labels,
    );
    const logits = rows * classes * 4;
    expect(plain).toBeGreaterThanOrEqual(logits);
    expect(chunked).toBeLessThan(logits / 4);
  });

  const ids = { data: Int32Array.from({ length: 48 }, (_, i) => (i * i + 3 * i) % 11), shape: [12, 4] };
  /** The embedding is the last layer too. */
  const tied = (last: (x: Tensor, weight: Tensor) => Tensor | Tensors) =>
    block({ tokens: (key) => key.normal([11, 8], 0, 1) }, ({ tokens }, x: Tensor) =>
      last(np.tanh(np.take(tokens(), x.reshape([x.size]), 0).reshape([...x.shape, 8])), tokens()),
    );
  const models: Record<string, [plain: Model<Tensor>, deferred: Model<Tensor>]> = {
    "a last layer": [sequential(embedding(11, 8), linear(8, 11)), sequential(embedding(11, 8), deferredLinear(8, 11))],
    "an embedding that is the last layer too": [tied(np.inner), tied((x, weight) => deferredLogits(x, weight))],
  };

  it.each(Object.entries(models))(
    "%s: losses, metrics, parameters and predictions are those of logits",
    async (_, both) => {
      const [plain, deferred] = await Promise.all(
        both.map(async (model) => {
          const train = new DataLoader({ x: ids, y: ids }, { batchSize: 4, shuffle: true });
          const trainer = new Trainer({
            model,
            loss: crossEntropy({ chunk: 3 }),
            metrics: { accuracy: accuracy() },
            optimizer: adamw({ lr: 0.05 }),
            train,
            epochs: 2,
            seed: 1,
            signals: false,
            ...(testEngine() && { engine: testEngine() }),
          });
          const losses: number[] = [];
          trainer.on("stepEnd", (ctx) => void losses.push(ctx.loss));
          const { metrics } = await trainer.fit();
          const predicted = (await trainer.predict(new DataLoader({ x: ids }, { batchSize: 5 }))) as HostArray;
          const params = trainer.summary();
          await trainer.close();
          return { losses, metrics, predicted, params };
        }),
      );
      expect(deferred!.params).toEqual(plain!.params);
      expect(deferred!.predicted.shape).toEqual([12, 4, 11]);
      const close = (a: ArrayLike<number>, b: ArrayLike<number>) =>
        Array.from(a, (value, i) => Math.abs(value - b[i]!) < 2e-5 * (1 + Math.abs(value))).every(Boolean);
      expect(close(deferred!.losses, plain!.losses)).toBe(true);
      expect(close(deferred!.predicted.data, plain!.predicted.data)).toBe(true);
      expect(deferred!.metrics["train/accuracy"]).toBe(plain!.metrics["train/accuracy"]);
    },
  );
});

describe("remat", () => {
  const features = 32;
  const layer = (): Layer =>
    sequential(
      residual(sequential(layerNorm(features), multiHeadAttention(features, 2, { causal: true, dropout: 0.1 }))),
      residual(sequential(linear(features, 4 * features), gelu(), dropout(0.1), linear(4 * features, features))),
    );
  const stack = (depth: number, wrap: (layer: Layer) => Layer): Layer =>
    sequential(...Array.from({ length: depth }, () => wrap(layer())));

  const again = (one: Layer): Layer => remat(one);

  it("keeps the memory of a model 4 times as deep below that of the model without it", () => {
    const planned = (model: Layer): number => {
      const hosts = Object.entries(model.init(initKey(0)));
      const params = Object.fromEntries(hosts.map(([name, { shape }]) => [name, f32(...shape)]));
      const loss = (p: Tensors, { x, key }: Tensors): Tensor => {
        const ctx = { train: true, state: {}, key: keyStream(key!.ref), loader: "train" };
        return np.square(model.apply(p, x!.ref, ctx) as Tensor).sum();
      };
      return plannedBytes(loss, params, { x: f32(4, 32, features), key: { shape: [2], dtype: "uint32" } });
    };
    const shallow = planned(stack(2, (one) => one));
    expect(planned(stack(8, again))).toBeLessThan(shallow);
    expect(planned(stack(8, (one) => one))).toBeGreaterThan(3 * shallow);
  });

  const waves = {
    data: Float32Array.from({ length: 8 * 4 * features }, (_, i) => Math.sin(i * 0.7)),
    shape: [8, 4, features],
  };
  const train = async (wrap: (layer: Layer) => Layer, options: Partial<TrainerOptions> = {}): Promise<number[]> => {
    const trainer = new Trainer({
      model: stack(2, wrap),
      loss: mse(),
      optimizer: adamw({ lr: 0.01 }),
      train: new DataLoader({ x: waves, y: waves }, { batchSize: 4 }),
      epochs: 2,
      seed: 3,
      signals: false,
      ...(testEngine() && { engine: testEngine() }),
      ...options,
    });
    const losses: number[] = [];
    trainer.on("stepEnd", (ctx) => void losses.push(ctx.loss));
    await trainer.fit();
    await trainer.close();
    return losses;
  };

  it("trains with the same numbers, whatever watches", async () => {
    const plain = await train((one) => one);
    const hooks: Hook[] = [{ name: "between", onAfterForward: (ctx) => void ctx.loss }];
    for (const losses of [await train(again), await train(again, { hooks })]) {
      for (const [i, loss] of losses.entries()) expect(Math.abs(loss - plain[i]!)).toBeLessThan(2e-5 * loss);
    }
  });

  it("has the parameters of the layer, and is the layer on engines without it", async () => {
    expect(again(layer()).init(initKey(0))).toEqual(layer().init(initKey(0)));
    expect(await train(again, { engine: "wasm", epochs: 1 })).toEqual(
      await train((one) => one, { engine: "wasm", epochs: 1 }),
    );
  });
});
