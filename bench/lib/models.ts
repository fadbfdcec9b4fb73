// The models that are measured, on made-up data: only shapes matter here.
import { DataLoader } from "hookline/data";
import { conv2d, crossEntropy, flatten, linear, maxPool2d, mse, relu, sequential } from "hookline/nn";
import { adamw, sgd } from "hookline/optim";
import type { TrainerOptions } from "hookline";
import { Rng } from "../../src/data/random.ts";

export type Setup = Pick<TrainerOptions, "model" | "loss" | "optimizer"> & { readonly train: DataLoader };

/** Enough batches that an epoch's end is rare. */
const BATCHES = 64;

const noise = (...shape: number[]) => {
  const rng = new Rng(1);
  return { data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => rng.normal()), shape };
};

const labels = (count: number, classes: number) => {
  const rng = new Rng(2);
  return { data: Int32Array.from({ length: count }, () => rng.int(classes)), shape: [count] };
};

/** 784-256-10 with batches of 128, as on MNIST. */
export const mlp = (): Setup => ({
  model: sequential(linear(784, 256), relu(), linear(256, 10)),
  loss: crossEntropy(),
  optimizer: adamw({ lr: 1e-3 }),
  train: new DataLoader(
    { x: noise(BATCHES * 128, 784), y: labels(BATCHES * 128, 10) },
    { batchSize: 128, shuffle: true },
  ),
});

/** The smallest that trains: nearly all of its step is bookkeeping, jax-js's and ours. */
export const oneLayer = (): Setup => ({
  model: linear(3, 1),
  loss: mse(),
  optimizer: sgd({ lr: 0.01 }),
  train: new DataLoader({ x: noise(BATCHES * 4, 3), y: noise(BATCHES * 4, 1) }, { batchSize: 4, shuffle: true }),
});

/** LeNet-5's layers with ReLU and max pooling. */
export const lenetModel = (): Setup["model"] =>
  sequential(
    conv2d(1, 6, { kernel: 5, padding: 2 }),
    relu(),
    maxPool2d(2),
    conv2d(6, 16, { kernel: 5 }),
    relu(),
    maxPool2d(2),
    flatten(),
    linear(400, 120),
    relu(),
    linear(120, 84),
    relu(),
    linear(84, 10),
  );

export const lenet = (): Setup => ({
  model: lenetModel(),
  loss: crossEntropy(),
  optimizer: sgd({ lr: 0.01, momentum: 0.9 }),
  train: new DataLoader({ x: noise(4 * 64, 1, 28, 28), y: labels(4 * 64, 10) }, { batchSize: 64, shuffle: true }),
});

/** 128 MiB of parameters in eight square layers. */
export const large = (batchSize: number): Setup => ({
  model: sequential(...Array.from({ length: 8 }, () => [linear(2048, 2048, { bias: false }), relu()]).flat()),
  loss: mse(),
  optimizer: sgd({ lr: 1e-3 }),
  train: new DataLoader({ x: noise(BATCHES * batchSize, 2048), y: noise(BATCHES * batchSize, 2048) }, { batchSize }),
});
