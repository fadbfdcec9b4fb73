// What the browser tests run inside a page: an MNIST-shaped network on made-up digits, and what its hooks saw.
import { Trainer, type Hook } from "hookline";
import { DataLoader, Rng } from "hookline/data";
import { Experiment, kFold, type ExperimentResult } from "hookline/experiment";
import { accuracy, crossEntropy, linear, relu, sequential } from "hookline/nn";
import { adam } from "hookline/optim";
import { recordTrace } from "hookline/testing";

export interface PageResult {
  readonly device: string;
  readonly isolated: boolean;
  readonly status: string;
  /** `ctx.loss` in each `stepEnd`. */
  readonly losses: readonly unknown[];
  /** `await ctx.grads.norm()`, or `ctx.gradNorm` where nobody listens to the gradients. */
  readonly norms: readonly unknown[];
  readonly events: Readonly<Record<string, number>>;
  readonly test: Readonly<Record<string, number>>;
}

export interface PageExperiment {
  readonly result: ExperimentResult;
  readonly events: readonly string[];
}

/** Ten blurred prototypes with noise: easy enough to learn in 20 steps. */
function digits(count: number) {
  const rng = new Rng(7);
  const prototypes = Array.from({ length: 10 }, () => Float32Array.from({ length: 784 }, () => rng.next()));
  const labels = Int32Array.from({ length: count }, (_, i) => i % 10);
  const pixels = new Float32Array(count * 784);
  for (let i = 0; i < pixels.length; i++) {
    pixels[i] = prototypes[labels[Math.floor(i / 784)]!]![i % 784]! + 0.3 * rng.normal();
  }
  return { x: { data: pixels, shape: [count, 784] }, y: labels };
}

/** Twenty steps; with `split`, a hook listens to the gradients, so that forward, backward and update run apart. */
async function train(engine: "wasm" | "webgpu" | "auto", split: boolean): Promise<PageResult> {
  const losses: unknown[] = [];
  const norms: unknown[] = [];
  const trace = recordTrace({ events: ["init", "trainBegin", "stepBegin", "stepEnd", "evalEnd", "trainEnd", "close"] });
  const watch: Hook = {
    name: "watch",
    needs: ["gradNorm"],
    onStepEnd(ctx) {
      losses.push(ctx.loss);
      if (!split) norms.push(ctx.gradNorm);
    },
    ...(split && { onBeforeOptimizerStep: async (ctx) => void norms.push(await ctx.grads.norm()) }),
  };
  const trainer = new Trainer({
    model: sequential(linear(784, 64), relu(), linear(64, 10)),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adam({ lr: 1e-3 }),
    train: new DataLoader(digits(640), { batchSize: 32, shuffle: true }),
    epochs: 1,
    engine,
    hooks: [watch, trace],
  });
  let device = "";
  trainer.on("trainBegin", (ctx) => void (device = ctx.device));
  const result = await trainer.fit();
  const test = await trainer.evaluate(new DataLoader(digits(100), { batchSize: 50 }));
  await trainer.close();
  const events: Record<string, number> = {};
  for (const name of trace.names()) events[name] = (events[name] ?? 0) + 1;
  return { device, isolated: crossOriginIsolated, status: result.status, losses, norms, events, test };
}

export interface PageLook {
  /** `ctx.avgLoss` in `epochEnd`, which nothing else has read. */
  readonly avgLoss: number;
  readonly trainLoss: number;
  /** How often the model was run with probes while a step was under way. */
  readonly looks: number;
}

/** An epoch in which only `epochEnd` is listened to, with looks into the model from outside the loop. */
async function look(engine: "wasm" | "webgpu"): Promise<PageLook> {
  let avgLoss = Number.NaN;
  await using trainer = new Trainer({
    model: sequential(linear(784, 64), relu(), linear(64, 10)),
    loss: crossEntropy(),
    optimizer: adam({ lr: 1e-3 }),
    train: new DataLoader(digits(640), { batchSize: 32 }),
    epochs: 1,
    logEvery: 1000,
    engine,
    hooks: [{ name: "average", onEpochEnd: (ctx) => void ({ avgLoss } = ctx) }],
  });
  const batch = digits(4);
  const looks: Promise<unknown>[] = [];
  trainer.on("beforeForward", () => void looks.push(trainer.runWithProbes(batch, { collect: "stats" })));
  const { metrics } = await trainer.fit();
  await Promise.all(looks);
  return { avgLoss, trainLoss: metrics["train/loss"]!, looks: looks.length };
}

/** Two models and their folds on arrays in memory, without any file. */
async function experiment(): Promise<PageExperiment> {
  const trace = recordTrace({ events: ["dataRead", "datasetCreated", "trainingComplete", "evaluationComplete"] });
  const result = await new Experiment({
    data: () => digits(400),
    split: kFold({ folds: 2, test: 0.2, stratify: "y" }),
    model: sequential(linear(784, 32), relu(), linear(32, 10)),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adam({ lr: 1e-3 }),
    engine: "wasm",
    epochs: 2,
    models: { one: {}, two: { seed: 1 } },
    hooks: [trace],
  }).run();
  return { result, events: trace.names() };
}

Object.assign(globalThis, { train, look, experiment });
