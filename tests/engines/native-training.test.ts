// Whole runs on the native engine: they follow wasm's losses, repeat themselves bit by bit, and can be taken up again.
import type { Hook, Model, Tensor, TrainerOptions } from "hookline";
import { Trainer } from "hookline";
import { memoryStore } from "hookline/checkpoint";
import { DataLoader } from "hookline/data";
import {
  accuracy,
  batchNorm,
  block,
  conv2d,
  crossEntropy,
  dropout,
  embedding,
  flatten,
  gelu,
  layerNorm,
  linear,
  maxPool2d,
  relu,
  sequential,
  tanh,
  type Layer,
} from "hookline/nn";
import { adamw, lion, rmsprop, sgd } from "hookline/optim";
import { describe, expect, test } from "vitest";
import { methodOf, type BuiltinEvent } from "../../src/core/events.ts";
import { NativeEngine } from "../../src/engines/native/native-engine.ts";
import { randomData } from "../support/random-data.ts";
import { transformerBlock } from "../support/transformer-block.ts";

type Options = Omit<TrainerOptions, "engine">;

const { floats, labels } = randomData(7);
const tokens = (n: number, length: number, words: number) => ({ data: labels(n * length, words), shape: [n, length] });

const mlpData = { x: floats(64, 20), y: labels(64, 5) };
const imageData = { x: floats(16, 1, 12, 12), y: labels(16, 5) };
const textData = { x: tokens(16, 8, 11), y: tokens(16, 8, 11) };

const mlp = (act: () => Layer) => sequential(linear(20, 32), act(), linear(32, 16), act(), linear(16, 5));
/** LeNet's layers, on a smaller image. */
const cnn = () =>
  sequential(
    conv2d(1, 3, { kernel: 3, padding: 1 }),
    tanh(),
    maxPool2d(2),
    conv2d(3, 4, { kernel: 3 }),
    tanh(),
    maxPool2d(2),
    flatten(),
    linear(4 * 2 * 2, 8),
    tanh(),
    linear(8, 5),
  );
const gpt = (): Model =>
  sequential({
    tokens: embedding(11, 16),
    body: transformerBlock(16, 2),
    norm: layerNorm(16),
    head: linear(16, 11),
  });

interface Run {
  readonly losses: number[];
  readonly bits: Record<string, Uint32Array>;
  readonly metrics: unknown;
}

async function train(
  options: Options,
  engine: "wasm" | "native" | NativeEngine,
  hooks: readonly Hook[] = [],
): Promise<Run> {
  const losses: number[] = [];
  await using trainer = new Trainer({
    ...options,
    engine: engine === "native" ? new NativeEngine({ threads: 2 }) : engine,
    signals: false,
    hooks: [
      ...([options.hooks ?? []] as Hook[][]).flat(),
      ...hooks,
      { name: "losses", onStepEnd: (ctx) => void losses.push(ctx.loss) },
    ],
  });
  const { metrics } = await trainer.fit();
  const state = Object.entries(await trainer.stateDict());
  return {
    losses,
    bits: Object.fromEntries(state.map(([name, { data }]) => [name, new Uint32Array(data.slice().buffer)])),
    metrics,
  };
}

describe("the losses of wasm for 200 steps, to 1e-3", () => {
  const reader: Hook = {
    name: "reader",
    async onBeforeOptimizerStep(ctx) {
      await ctx.grads.norm();
    },
  };
  const runs: [name: string, options: () => Options, hooks?: Hook[]][] = [
    [
      "an MLP of tanh, adamw and clipping",
      () => ({
        model: mlp(tanh),
        optimizer: adamw({ lr: 1e-3 }),
        loss: crossEntropy(),
        clipNorm: 0.5,
        train: new DataLoader(mlpData, { batchSize: 16, shuffle: true }),
        steps: 200,
      }),
    ],
    [
      "an MLP of gelu with dropout, two micro-batches a step and a hook that reads gradients",
      () => ({
        model: sequential(linear(20, 32), gelu(), dropout(0.1), linear(32, 5)),
        optimizer: adamw({ lr: 1e-3 }),
        loss: crossEntropy(),
        clipNorm: 1,
        accumulate: 2,
        train: new DataLoader(mlpData, { batchSize: 8, shuffle: true }),
        steps: 200,
      }),
      [reader],
    ],
    [
      "a CNN, sgd with momentum",
      () => ({
        model: cnn(),
        optimizer: sgd({ lr: 1e-2, momentum: 0.9 }),
        loss: crossEntropy(),
        train: new DataLoader(imageData, { batchSize: 4 }),
        steps: 200,
      }),
    ],
    [
      "a GPT, adamw and clipping",
      () => ({
        model: gpt(),
        optimizer: adamw({ lr: 1e-3 }),
        loss: crossEntropy(),
        clipNorm: 1,
        train: new DataLoader(textData, { batchSize: 4 }),
        steps: 200,
      }),
    ],
  ];
  test.each(runs)("%s", async (_, options, hooks = []) => {
    const [wasm, native] = [await train(options(), "wasm"), await train(options(), "native", hooks)];
    expect(native.losses).toHaveLength(200);
    const worst = Math.max(...native.losses.map((loss, i) => Math.abs(loss - wasm.losses[i]!) / wasm.losses[i]!));
    expect(worst).toBeLessThan(1e-3);
    expect(wasm.losses.at(-1)).toBeLessThan(wasm.losses[0]!);
  });
});

test.each([
  [120, 8, 2],
  [120, 12, 3],
  [256, 16, 4],
])("learned positions: vocabulary %i, batch %i, %i threads", async (words, batchSize, threads) => {
  const model = block(
    { tokens: embedding(words, 128), places: (key) => key.normal([64, 128], 0, 1), head: linear(128, words) },
    ({ tokens: look, places, head }, x: Tensor) => head(look(x).add(places())),
  );
  const options = (): Options => ({
    model,
    optimizer: adamw({ lr: 1e-3 }),
    loss: crossEntropy(),
    train: new DataLoader({ x: tokens(batchSize, 64, words), y: tokens(batchSize, 64, words) }, { batchSize }),
    steps: 2,
  });
  const warnings: string[] = [];
  const native = await train(options(), new NativeEngine({ threads, warn: (message) => warnings.push(message) }));
  expect(native.losses).toHaveLength(2);
  expect(warnings).toEqual([]);
});

const observe = (...events: BuiltinEvent[]): Hook => ({
  name: `observe ${events.join()}`,
  ...Object.fromEntries(events.map((event) => [methodOf(event), () => undefined])),
});

const plans: Record<string, Hook[]> = {
  "with outputs, norm and metrics": [{ name: "needs", needs: ["outputs", "gradNorm", "batchMetrics"] }],
  "split at afterBackward": [observe("afterBackward")],
  "split at the optimizer": [observe("beforeOptimizerStep", "gradientClip", "afterOptimizerStep")],
  "forward first": [observe("afterForward")],
  "with probes": [{ name: "probes", probes: { match: "*" }, onStepEnd: () => undefined }],
  "reading the gradients": [
    {
      name: "reader",
      async onBeforeOptimizerStep(ctx) {
        await ctx.grads.norm();
        await ctx.grads.stats({ percentiles: [50], histogram: 4 });
      },
    },
  ],
};

const cases: Record<string, () => Options> = {
  "an MLP with batch norm and dropout": () => ({
    model: sequential(linear(20, 32), batchNorm(32), relu(), dropout(0.3), linear(32, 5)),
    optimizer: adamw({ lr: 1e-2 }),
    loss: crossEntropy(),
    clipNorm: 0.5,
    train: new DataLoader(mlpData, { batchSize: 8, shuffle: true }),
    steps: 4,
    metrics: { accuracy: accuracy() },
  }),
  "an MLP in three micro-batches": () => ({
    model: mlp(relu),
    optimizer: lion({ lr: 1e-3 }),
    loss: crossEntropy(),
    clipValue: 0.01,
    accumulate: 3,
    train: new DataLoader(mlpData, { batchSize: 7, shuffle: true }),
    steps: 3,
  }),
  "a CNN": () => ({
    model: cnn(),
    optimizer: rmsprop({ lr: 1e-3 }),
    loss: crossEntropy(),
    clipNorm: 0.3,
    train: new DataLoader(imageData, { batchSize: 6 }),
    steps: 3,
  }),
  "a GPT": () => ({
    model: gpt(),
    optimizer: adamw({ lr: 3e-3 }),
    loss: crossEntropy(),
    clipNorm: 1,
    train: new DataLoader(textData, { batchSize: 4 }),
    steps: 3,
  }),
};

describe.each(Object.entries(cases))("the same bits whoever looks: %s", (_, options) => {
  const fused = train(options(), "native");
  test("run twice", async () => expect(await train(options(), "native")).toEqual(await fused));
  test.each(Object.entries(plans))("%s", async (__, hooks) => {
    expect(await train(options(), "native", hooks)).toEqual(await fused);
  });
});

test("a run that is taken up again ends with the same bits", async () => {
  const options = (): Options => ({
    model: sequential(linear(20, 32), batchNorm(32), gelu(), dropout(0.3), linear(32, 5)),
    optimizer: adamw({ lr: 1e-2 }),
    loss: crossEntropy(),
    clipNorm: 0.5,
    train: new DataLoader(mlpData, { batchSize: 8, shuffle: true }),
    steps: 20,
  });
  const whole = await train(options(), "native");
  const store = memoryStore();
  const saving: Hook = { name: "saving", onStepEnd: (ctx) => void (ctx.step === 9 && ctx.requestSave("interval")) };
  await train({ ...options(), steps: 9, store, save: "sync", hooks: [saving] }, "native");
  await using trainer = new Trainer({
    ...options(),
    store,
    engine: new NativeEngine({ threads: 2 }),
    signals: false,
  });
  const { resumed } = await trainer.fit({ resume: "auto" });
  expect(resumed).toMatchObject({ step: 9 });
  const state = Object.entries(await trainer.stateDict());
  expect(Object.fromEntries(state.map(([name, { data }]) => [name, new Uint32Array(data.slice().buffer)]))).toEqual(
    whole.bits,
  );
});
