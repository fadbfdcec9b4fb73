// What saves memory: the numbers stay, and the memory that the native engine plans for a step shrinks.
import { defaultDevice, init, numpy as np, valueAndGrad } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { Trainer, type HostArray, type Model, type Tensor, type Tensors } from "hookline";
import { DataLoader } from "hookline/data";
import {
  accuracy,
  block,
  crossEntropy,
  deferredLinear,
  deferredLogits,
  embedding,
  linear,
  sequential,
} from "hookline/nn";
import { adamw } from "hookline/optim";
import { lower } from "../../src/engines/lower/lower.ts";
import { trace, type Aval } from "../../src/engines/lower/trace.ts";
import { planArena } from "../../src/engines/native/plan/arena.ts";
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
function plannedBytes(loss: (params: Tensors, y: Tensor) => Tensor, params: Record<string, Aval>, y: Aval): number {
  const step = (p: Tensors, labels: Tensor): Tensor[] => {
    const [value, grads] = valueAndGrads((at) => loss(at, labels))(p);
    return [value, ...Object.values(grads)];
  };
  return planArena(planGraph(lower(trace(step, [params, y])), 2)).bytes;
}

describe("deferred logits", () => {
  it("need memory for one part of the logits, not for all", () => {
    const [rows, features, classes, chunk] = [512, 16, 2048, 32];
    const params = { hidden: f32(rows, features), weight: f32(classes, features) };
    const labels: Aval = { shape: [rows], dtype: "int32" };
    const plain = plannedBytes(
      ({ hidden, weight }, y) => crossEntropy()(np.inner(hidden!, weight!), y, {}),
      params,
      labels,
    );
    const chunked = plannedBytes(
      ({ hidden, weight }, y) => crossEntropy({ chunk })(deferredLogits(hidden!, weight!), y, {}),
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
