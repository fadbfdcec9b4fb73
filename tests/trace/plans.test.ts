// Every plan gives the same bits as the fused one on wasm: an observer never changes the run.
import type { BuiltinEvent, Hook } from "hookline";
import { Trainer } from "hookline";
import { DataLoader } from "hookline/data";
import {
  accuracy,
  batchNorm,
  conv2d,
  crossEntropy,
  dropout,
  embedding,
  flatten,
  linear,
  maxPool2d,
  relu,
  sequential,
} from "hookline/nn";
import { adamw, lion, rmsprop, sgd } from "hookline/optim";
import type { Activations, Model, ProbeRequest, TrainerOptions } from "hookline";
import { testEngine } from "hookline/testing";
import { methodOf } from "../../src/core/events.ts";
import { readPoints } from "../support/probed.ts";
import { randomData } from "../support/random-data.ts";
import { transformerBlock } from "../support/transformer-block.ts";
import { describe, expect, test } from "vitest";
import { bitsOf, byAnotherPlan } from "../support/to-rounding.ts";

const { floats, labels } = randomData(7);

/** No bias in front of the norm, which takes it away again: its gradient would be rounding alone. */
const mlp = () => sequential(linear(20, 32, { bias: false }), batchNorm(32), relu(), dropout(0.3), linear(32, 5));
const cnn = () => sequential(conv2d(1, 4, { kernel: 3 }), relu(), maxPool2d(2), flatten(), linear(4 * 3 * 3, 5));
const transformer = (): Model =>
  sequential({
    tokens: embedding(11, 16),
    body: transformerBlock(16, 2),
    head: linear(16, 11),
  });

interface Case {
  readonly name: string;
  readonly options: () => Omit<TrainerOptions, "engine">;
}

const mlpData = { x: floats(50, 20), y: labels(50, 5) };
const cnnData = { x: floats(24, 1, 8, 8), y: labels(24, 5) };
const textData = { x: { data: labels(16 * 6, 11), shape: [16, 6] }, y: { data: labels(16 * 6, 11), shape: [16, 6] } };

const cases: Case[] = [
  {
    name: "mlp, adamw, clip",
    options: () => ({
      model: mlp(),
      optimizer: adamw({ lr: 1e-2 }),
      loss: crossEntropy(),
      clipNorm: 0.5,
      train: new DataLoader(mlpData, { batchSize: 8, shuffle: true }),
      steps: 12,
      metrics: { accuracy: accuracy() },
    }),
  },
  {
    name: "mlp, sgd momentum, no clip",
    options: () => ({
      model: mlp(),
      optimizer: sgd({ lr: 1e-2, momentum: 0.9, nesterov: true }),
      loss: crossEntropy(),
      train: new DataLoader(mlpData, { batchSize: 8 }),
      steps: 12,
    }),
  },
  {
    name: "mlp, accumulate 3, clip by value",
    options: () => ({
      model: mlp(),
      optimizer: lion({ lr: 1e-3 }),
      loss: crossEntropy(),
      clipValue: 0.01,
      accumulate: 3,
      train: new DataLoader(mlpData, { batchSize: 8, shuffle: true }),
      steps: 7,
    }),
  },
  {
    name: "cnn, rmsprop, both clips",
    options: () => ({
      model: cnn(),
      optimizer: rmsprop({ lr: 1e-3 }),
      loss: crossEntropy(),
      clipNorm: 0.3,
      clipValue: 0.1,
      train: new DataLoader(cnnData, { batchSize: 6 }),
      steps: 8,
    }),
  },
  {
    name: "transformer, adamw, clip",
    options: () => ({
      model: transformer(),
      optimizer: adamw({ lr: 3e-3 }),
      loss: crossEntropy(),
      clipNorm: 1,
      train: new DataLoader(textData, { batchSize: 4 }),
      steps: 8,
    }),
  },
];

const observe = (...events: BuiltinEvent[]): Hook => ({
  name: `observe ${events.join()}`,
  ...Object.fromEntries(events.map((event) => [methodOf(event), () => undefined])),
});
const probing = (
  name: string,
  probes: ProbeRequest,
  method: "onAfterForward" | "onAfterBackward" | "onBatchEnd" | "onStepEnd",
): Hook => ({
  name,
  probes,
  [method]({ activations }: { activations: Activations }) {
    if (activations.names.length === 0) throw new Error("nothing collected");
    readPoints(activations, probes.collect);
  },
});
const plans: Record<string, Hook[]> = {
  "fused with outputs, norm and metrics": [{ name: "needs", needs: ["outputs", "gradNorm", "batchMetrics"] }],
  "split at afterBackward": [observe("afterBackward")],
  "split at the optimizer": [observe("beforeOptimizerStep", "gradientClip", "afterOptimizerStep")],
  "forward first": [observe("afterForward")],
  everything: [
    observe(
      "afterForward",
      "beforeBackward",
      "afterBackward",
      "beforeOptimizerStep",
      "gradientClip",
      "afterOptimizerStep",
    ),
    { name: "needs", needs: ["outputs", "gradNorm"] },
  ],
  "split now and then": [{ ...observe("afterBackward"), every: 3 }],
  "probing every point": [probing("every step", { match: "*", percentiles: [50], histogram: 4 }, "onStepEnd")],
  "probing now and then, arrays and statistics": [
    { ...probing("arrays", { match: () => true, collect: "arrays" }, "onBatchEnd"), every: 2 },
    { ...probing("stats", { match: "*" }, "onStepEnd"), every: 3 },
  ],
  "probing between forward and backward": [probing("forward", { match: "*" }, "onAfterForward")],
  "probing beside the gradients": [probing("split", { match: "*", collect: "arrays" }, "onAfterBackward")],
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

async function run(options: Omit<TrainerOptions, "engine">, hooks: readonly Hook[]) {
  const losses: number[] = [];
  await using trainer = new Trainer({
    ...options,
    engine: testEngine(),
    signals: false,
    hooks: [...hooks, { name: "losses", onStepEnd: (ctx) => void losses.push(ctx.loss) }],
  });
  const result = await trainer.fit();
  const state = await trainer.stateDict();
  const bits = Object.fromEntries(Object.entries(state).map(([name, array]) => [name, bitsOf(name, array)]));
  return { losses, bits, metrics: result.metrics };
}

describe.each(cases)("$name", ({ options }) => {
  test.each(Object.entries(plans))("%s", async (_, hooks) => {
    const fused = await run(options(), []);
    const other = await run(options(), hooks);
    expect(other).toEqual(byAnotherPlan(fused));
    expect(fused.losses.every(Number.isFinite)).toBe(true);
  });
});
