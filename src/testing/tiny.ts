// A trainer small enough for unit tests: a linear regression on made-up data, a step in well under a millisecond.
import { DataLoader } from "../data/data-loader.ts";
import { linear } from "../nn/basic.ts";
import { mse } from "../nn/losses/regression.ts";
import { sgd } from "../optim/sgd.ts";
import { Rng } from "../data/random.ts";
import type { TrainerOptions } from "../trainer/options.ts";
import { Trainer } from "../trainer/trainer.ts";
import { checkEngine, type EngineName } from "../engines/select.ts";

/** Options of `tinyTrainer`: those of a trainer, and how much data. */
export interface TinyOptions extends Partial<TrainerOptions> {
  /** Samples to train on. Default 16, that is 4 batches of 4. */
  readonly samples?: number;
  readonly batchSize?: number;
}

/** y = x·w + noise, three features. */
export function tinyData(samples: number, seed = 1) {
  const rng = new Rng(seed);
  const x = Float32Array.from({ length: samples * 3 }, () => rng.normal());
  const y = Float32Array.from(
    { length: samples },
    (_, i) => x[3 * i]! - 2 * x[3 * i + 1]! + 0.5 * x[3 * i + 2]! + 0.01 * rng.normal(),
  );
  return { x: { data: x, shape: [samples, 3] }, y: { data: y, shape: [samples, 1] } };
}

/** A ready trainer; every option of `Trainer` can be given. Default: one epoch of four steps. */
export function tinyTrainer({ samples = 16, batchSize = 4, ...options }: TinyOptions = {}): Trainer {
  const bounded = ["epochs", "steps", "maxSamples", "maxTokens", "maxTime"].some((key) => key in options);
  return new Trainer({
    model: linear(3, 1),
    loss: mse(),
    optimizer: sgd({ lr: 0.1 }),
    train: new DataLoader(tinyData(samples), { batchSize }),
    engine: testEngine(),
    signals: false,
    ...(bounded ? {} : { epochs: 1 }),
    ...options,
  });
}

/**
 * The engine that tests train on: `wasm`, the same everywhere, unless the environment variable HOOKLINE_TEST_ENGINE names
 * another one.
 */
export function testEngine(): EngineName {
  const { process } = globalThis as { process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
  const name = process?.env?.HOOKLINE_TEST_ENGINE ?? "wasm";
  checkEngine(name);
  return name as EngineName;
}
