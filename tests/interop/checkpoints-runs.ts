// Runs whose checkpoints cross between PyTorch and here: what they train on, and what comes of it.
// For a PyTorch elsewhere: npx tsx tests/interop/checkpoints-runs.ts FOLDER
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readWeights } from "../../src/checkpoint/weights/read-weights.ts";
import type { HostArray } from "../../src/core/arrays.ts";
import type { HostTensors } from "../../src/core/model.ts";
import type { Optimizer } from "../../src/core/optimizer.ts";
import { DataLoader } from "../../src/data/index.ts";
import { ema } from "../../src/hooks/averaging/ema.ts";
import { modelCheckpoint } from "../../src/hooks/model-checkpoint/model-checkpoint.ts";
import * as nn from "../../src/nn/index.ts";
import { adamw, sgd } from "../../src/optim/index.ts";
import type { TrainerOptions } from "../../src/trainer/options.ts";
import { Trainer } from "../../src/trainer/trainer.ts";
import { ints, noise } from "../support/gradcheck.ts";
import { models } from "./formats-models.ts";

/** Steps before the checkpoint, and as many after it. */
export const STEPS = 3;
const BATCH = 8;
const SAMPLES = 2 * STEPS * BATCH;

interface Data {
  readonly x: HostArray;
  readonly y: HostArray;
}

const classes = (shape: readonly number[], count: number): HostArray =>
  ints(
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => (7 * i + (i >> 2)) % count),
    shape,
  );

const data: Readonly<Record<string, Data>> = {
  mlp: { x: noise([SAMPLES, 6], 31), y: noise([SAMPLES, 2], 32) },
  cnn: { x: noise([SAMPLES, 3, 8, 8], 33), y: classes([SAMPLES], 5) },
  transformer: { x: classes([SAMPLES, 8], 17), y: classes([SAMPLES, 8], 17) },
};

/** The part of the data that comes before the checkpoint, or after it. */
function half({ x, y }: Data, after: boolean): Data {
  const cut = ({ data, shape: [samples, ...rest] }: HostArray): HostArray => {
    const middle = data.length / 2;
    return { data: after ? data.slice(middle) : data.slice(0, middle), shape: [samples! / 2, ...rest] };
  };
  return { x: cut(x), y: cut(y) };
}

// The offset of the keys has no effect, so its gradient is rounding noise, which Adam would make steps of: hence `eps`.
export const optimizers: Readonly<Record<string, () => Optimizer>> = {
  adamw: () => adamw({ lr: 0.01, eps: 1e-3 }),
  sgd: () => sgd({ lr: 0.05, momentum: 0.9 }),
};

export interface Which {
  readonly model: string;
  readonly optimizer: string;
}

/** A trainer on the data, or on the half of it that comes after the checkpoint. */
export const trainerFor = (
  { model, optimizer }: Which,
  options: Partial<TrainerOptions> = {},
  part: "all" | "after" = "all",
): Trainer =>
  new Trainer({
    model: models[model]!.model,
    loss: model === "mlp" ? nn.mse() : nn.crossEntropy(),
    optimizer: optimizers[optimizer]!(),
    train: new DataLoader(
      { ...(part === "all" ? data[model]! : half(data[model]!, true)) },
      { batchSize: BATCH, shuffle: false },
    ),
    engine: "wasm",
    signals: false,
    seed: 4,
    ...options,
  });

/** What a trainer's model says to the fixed batch. */
export async function answersOf(trainer: Trainer, model: string): Promise<number[]> {
  const { input } = models[model]!;
  const outputs = await trainer.predict(new DataLoader({ x: input }, { batchSize: input.shape[0]! }));
  return Array.from((outputs as HostArray).data);
}

export const runs: readonly (Which & { readonly format: "safetensors" | "pt" })[] = Object.keys(models).flatMap(
  (model) => [
    { model, optimizer: "adamw", format: "safetensors" },
    { model, optimizer: "adamw", format: "pt" },
    { model, optimizer: "sgd", format: "pt" },
  ],
);

const plain = ({ data, shape }: HostArray): object => ({
  data: [...data],
  shape,
  whole: !(data instanceof Float32Array),
});
export const numbersOf = (tensors: HostTensors): Record<string, number[]> =>
  Object.fromEntries(Object.entries(tensors).map(([name, { data }]) => [name, [...data]]));

/** Trains, saves, and goes on from the checkpoint in another trainer. */
async function runOf(which: (typeof runs)[number], runDir: string): Promise<object> {
  const { model, format } = which;
  const hooks = [ema({ decay: 0.5 }), modelCheckpoint({ format })];
  const first = trainerFor(which, { runDir, hooks });
  await first.fit({ steps: STEPS });
  const outputs = await answersOf(first, model);
  await first.close();
  const checkpoint = join(runDir, "checkpoints", `step-${String(STEPS).padStart(6, "0")}`);
  await using averaged = trainerFor(which);
  await averaged.loadStateDict(await readWeights(checkpoint));
  await using second = trainerFor(which);
  await second.fit({ resume: checkpoint, steps: 2 * STEPS });
  return {
    ...which,
    checkpoint: checkpoint.slice(runDir.length + 1),
    outputs,
    averaged: await answersOf(averaged, model),
    final: numbersOf(await second.stateDict()),
  };
}

/** Everything that checkpoints-torch.py reads. */
export async function writeOurs(folder: string): Promise<void> {
  const ours = join(folder, "ours");
  mkdirSync(ours, { recursive: true });
  const written: object[] = [];
  for (const [i, which] of runs.entries()) {
    const dir = `${i}-${which.model}-${which.optimizer}-${which.format}`;
    written.push({ dir, ...(await runOf(which, join(ours, dir))) });
  }
  const given = Object.entries(models).map(([name, { input }]) => {
    const { x, y } = data[name]!;
    return [name, { input: plain(input), x: plain(x), y: plain(y) }];
  });
  const sizes = { steps: STEPS, batch: BATCH };
  writeFileSync(join(ours, "runs.json"), JSON.stringify({ ...sizes, data: Object.fromEntries(given), runs: written }));
}

const [, script, folder] = process.argv;
if (script?.endsWith("checkpoints-runs.ts") && folder) await writeOurs(folder);
