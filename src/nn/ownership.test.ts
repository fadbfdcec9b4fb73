// Eager calls consume each parameter and input once and leave no array behind.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { ints, noise, put, putAll, startWasm } from "../../tests/support/gradcheck.ts";
import type { HostArray } from "../core/arrays.ts";
import type { AnyMetric, ApplyContext, Loss, Model, Tensor, Tensors } from "../core/model.ts";
import * as nn from "./index.ts";

// jax-js exports no count of live buffers: watch its backend make and release them.
interface Backend {
  malloc(size: number, data?: Uint8Array): number;
  incRef(slot: number): void;
  decRef(slot: number): void;
}
const live = new Map<number, number>();

beforeAll(async () => {
  await startWasm();
  const entry = fileURLToPath(import.meta.resolve("@jax-js/jax"));
  const chunk = readdirSync(dirname(entry)).find((name) => /^backend-.*\.js$/.test(name))!;
  const exports = Object.values((await import(pathToFileURL(join(dirname(entry), chunk)).href)) as object);
  const getBackend = exports.find((value) => typeof value === "function" && value.name === "getBackend");
  const backend = (getBackend as (device: string) => Backend)("wasm");
  const malloc = backend.malloc.bind(backend);
  const incRef = backend.incRef.bind(backend);
  const decRef = backend.decRef.bind(backend);
  const add = (slot: number, by: number) => {
    const count = (live.get(slot) ?? 0) + by;
    if (count === 0) live.delete(slot);
    else live.set(slot, count);
  };
  backend.malloc = (size, data) => {
    const slot = malloc(size, data);
    add(slot, 1);
    return slot;
  };
  backend.incRef = (slot) => {
    incRef(slot);
    add(slot, 1);
  };
  backend.decRef = (slot) => {
    decRef(slot);
    add(slot, -1);
  };
});

const isTensor = (value: Tensor | Tensors): value is Tensor => typeof value.dispose === "function";

function realise(value: Tensor | Tensors | [Tensor | Tensors, Tensors]): void {
  if (Array.isArray(value)) value.forEach(realise);
  else if (isTensor(value)) value.dataSync();
  else Object.values(value).forEach((tensor) => tensor.dataSync());
}

/** Runs `once` on fresh references, and says which arguments are not back at one and how many buffers are left. */
function leaks(arrays: Tensors, once: (refs: Tensors) => void): string[] {
  for (const tensor of Object.values(arrays)) tensor.ref.dataSync();
  const run = () => once(Object.fromEntries(Object.entries(arrays).map(([name, tensor]) => [name, tensor.ref])));
  run();
  const before = live.size;
  run();
  const left = live.size - before;
  const wrong = left === 0 ? [] : [`${left} buffers left behind`];
  for (const [name, tensor] of Object.entries(arrays)) {
    if (tensor.refCount !== 1) wrong.push(`${name} has ${tensor.refCount} references`);
    tensor.dispose();
  }
  return wrong;
}

const withBase = (train: boolean, state: Tensors, run: (ctx: ApplyContext) => void) => {
  const base = put({ data: nn.stepKey(0, 1, 0), shape: [2] });
  run({ train, state, key: nn.keyStream(base), loader: "train" });
  base.dispose();
};

it("sees buffers that are left behind", () => {
  const before = live.size;
  const kept = put(noise([4, 200]));
  kept.ref.dataSync();
  expect(live.size).toBe(before + 1);
  kept.dispose();
  expect(live.size).toBe(before);
});

const wide = noise([2, 3, 64]);
const image = noise([2, 4, 9, 9]);
const d = 64;
const models: [string, Model<Tensor>, HostArray][] = [
  ["linear", nn.linear(d, 64), wide],
  ["linear without bias", nn.linear(d, 64, { bias: false }), wide],
  ["conv2d", nn.conv2d(4, 4, { kernel: 3, stride: 2, padding: 1 }), image],
  ["maxPool2d", nn.maxPool2d(3, { stride: 2, padding: 1 }), image],
  ["avgPool2d", nn.avgPool2d(2), image],
  ["embedding", nn.embedding(100, 5), ints(Array.from({ length: 150 }, (_, i) => i % 120))],
  ["layerNorm", nn.layerNorm(d), wide],
  ["layerNorm without bias", nn.layerNorm(d, { bias: false }), wide],
  ["rmsNorm", nn.rmsNorm(d), wide],
  ["batchNorm", nn.batchNorm(4), image],
  ["dropout", nn.dropout(0.5), wide],
  ["multiHeadAttention", nn.multiHeadAttention(d, 4, { causal: true, dropout: 0.1 }), wide],
  ["residual", nn.residual(nn.batchNorm(4)), image],
  ["flatten", nn.flatten(), image],
  ["relu", nn.relu(), wide],
  ["gelu", nn.gelu(), wide],
  ["gelu tanh", nn.gelu({ approximate: "tanh" }), wide],
  ["tanh", nn.tanh(), wide],
  ["sigmoid", nn.sigmoid(), wide],
  ["silu", nn.silu(), wide],
  ["leakyRelu", nn.leakyRelu(), wide],
  ["softmax", nn.softmax(), wide],
  ["logSoftmax", nn.logSoftmax(), wide],
  ["sequential", nn.sequential(nn.linear(d, d), nn.relu(), nn.dropout(0.5), nn.linear(d, 8)), wide],
  [
    "block",
    nn.block({ used: nn.linear(d, d), unused: nn.linear(d, d), own: (key) => key.normal([d], 0, 1) }, (c, x: Tensor) =>
      c.used(c.used(x)).add(c.own()),
    ),
    wide,
  ],
];

describe.each(models)("%s", (_name, model, input) => {
  it.each([true, false])("leaves nothing behind, train %s", (train) => {
    const buffers = putAll(model.initState?.() ?? {});
    const names = Object.keys(buffers);
    const arrays = { ...putAll(model.init(nn.initKey(0))), ...buffers, "the input": put(input) };
    const once = ({ "the input": x, ...rest }: Tensors) => {
      const state = Object.fromEntries(names.map((name) => [name, rest[name]!]));
      for (const name of names) delete rest[name];
      withBase(train, state, (ctx) => realise(model.apply(rest, x!, ctx)));
    };
    expect(leaks(arrays, once)).toEqual([]);
  });
});

const labels = ints(Array.from({ length: 20 }, (_, i) => (i === 5 ? -100 : i % 10)));
const logits = noise([20, 10]);
const tenWeights = Array.from({ length: 10 }, (_, i) => i / 5);
const losses: [string, Loss, HostArray][] = [
  ["crossEntropy", nn.crossEntropy(), labels],
  ["crossEntropy with smoothing", nn.crossEntropy({ labelSmoothing: 0.1 }), labels],
  ["mse", nn.mse(), logits],
  ["l1", nn.l1(), logits],
  ["huber", nn.huber(), logits],
  ["bceWithLogits", nn.bceWithLogits({ posWeight: 2 }), logits],
  ["bceWithLogits with smoothing", nn.bceWithLogits({ labelSmoothing: 0.1 }), logits],
  ["binaryFocal", nn.binaryFocal({ alpha: 0.25 }), logits],
  ["focal", nn.focal(), labels],
  ["crossEntropy with class weights", nn.crossEntropy({ classWeights: tenWeights }), labels],
  [
    "crossEntropy of deferred logits",
    (x, y, batch) =>
      nn.crossEntropy({ chunk: 7 })(nn.deferredLogits(x as Tensor, put(noise([10, 10])), put(noise([10]))), y, batch),
    labels,
  ],
  ["focal with everything", nn.focal({ classWeights: tenWeights, labelSmoothing: 0.1 }), labels],
];
const weight = { data: Float32Array.from({ length: 20 }, (_, i) => i % 3), shape: [20] };

it.each(losses)("%s leaves nothing behind", (_name, loss, y) => {
  const once = (refs: Tensors) => realise(loss(refs.x!, refs.y!, {}));
  expect(leaks({ x: put(logits), y: put(y) }, once)).toEqual([]);
  const weighted = (refs: Tensors) => {
    realise(loss(refs.x!, refs.y!, { weight: refs.weight! }));
    refs.weight!.dispose();
  };
  expect(leaks({ x: put(logits), y: put(y), weight: put(weight) }, weighted)).toEqual([]);
});

const yesNo = { data: Float32Array.from({ length: 200 }, (_, i) => Number(i % 3 === 0)), shape: [20, 10] };
const metrics: [string, AnyMetric, HostArray][] = [
  ["binaryAccuracy", nn.binaryAccuracy(), yesNo],
  ["precision", nn.precision(), labels],
  ["recall of labels", nn.recall(), yesNo],
  ["f1", nn.f1({ perClass: true }), labels],
  ["logLoss", nn.logLoss(), labels],
  ["logLoss of labels", nn.logLoss(), yesNo],
  ["calibrationError", nn.calibrationError(), labels],
  ["calibrationError of labels", nn.calibrationError({ bins: 1 }), yesNo],
  ["mape", nn.mape(), logits],
  ["r2", nn.r2(), logits],
  ["rocAuc", nn.rocAuc(), labels],
  ["averagePrecision of labels", nn.averagePrecision(), yesNo],
  ["mrr", nn.mrr(), labels],
  ["ndcg of relevances", nn.ndcg({ k: 3 }), yesNo],
  ["accuracy", nn.accuracy({ topK: 2 }), labels],
  ["mae", nn.mae(), logits],
  ["rmse", nn.rmse(), logits],
  ["perplexity", nn.perplexity(), labels],
];

it.each(metrics)("%s consumes the outputs, leaves the batch to its owner, and nothing behind", (_name, metric, y) => {
  const once = (refs: Tensors) => {
    realise(metric.update(refs.x!, { y: refs.y! }));
    refs.y!.dispose();
  };
  expect(leaks({ x: put(logits), y: put(y) }, once)).toEqual([]);
  const weighted = (refs: Tensors) => {
    realise(metric.update(refs.x!, { y: refs.y!, weight: refs.weight! }));
    for (const own of [refs.y!, refs.weight!]) own.dispose();
  };
  expect(leaks({ x: put(logits), y: put(y), weight: put(weight) }, weighted)).toEqual([]);
});
