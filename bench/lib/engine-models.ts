// The models that engines are compared on, with plain sgd everywhere. torch-engines.py has the same ones.
import type { TrainerOptions } from "hookline";
import { DataLoader } from "hookline/data";
import {
  avgPool2d,
  batchNorm,
  block,
  conv2d,
  crossEntropy,
  embedding,
  flatten,
  gelu,
  layerNorm,
  linear,
  multiHeadAttention,
  relu,
  residual,
  sequential,
} from "hookline/nn";
import type { Tensor } from "hookline";
import { sgd } from "hookline/optim";
import { lenetModel } from "./models.ts";

type Setup = Pick<TrainerOptions, "model" | "loss" | "optimizer"> & { readonly train: DataLoader };

/** Enough batches that an epoch's end is rare, and few enough that they do not count as memory of the engine. */
const BATCHES = 16;
const VOCABULARY = 65;

const waves = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i * 0.7)),
  shape,
});

const numbers = (below: number, ...shape: number[]) => ({
  data: Int32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => (i * i * 7 + i) % below),
  shape,
});

const classified = (model: Setup["model"], batchSize: number, ...shape: number[]): Setup => ({
  model,
  loss: crossEntropy(),
  optimizer: sgd({ lr: 0.01 }),
  train: new DataLoader(
    { x: waves(BATCHES * batchSize, ...shape), y: numbers(10, BATCHES * batchSize) },
    { batchSize },
  ),
});

function gpt(layers: number, width: number, heads: number, sequences: number, tokens: number): Setup {
  const block = () => [
    residual(sequential(layerNorm(width), multiHeadAttention(width, heads, { causal: true }))),
    residual(sequential(layerNorm(width), linear(width, 4 * width), gelu(), linear(4 * width, width))),
  ];
  const blocks = Array.from({ length: layers }, block).flat();
  const ids = numbers(VOCABULARY, BATCHES * sequences, tokens);
  return {
    model: sequential(embedding(VOCABULARY, width), ...blocks, layerNorm(width), linear(width, VOCABULARY)),
    loss: crossEntropy(),
    optimizer: sgd({ lr: 0.01 }),
    train: new DataLoader({ x: ids, y: ids }, { batchSize: sequences }),
  };
}

const convolution = (from: number, to: number, kernel: number, stride = 1) =>
  conv2d(from, to, { kernel, stride, padding: (kernel - 1) / 2, bias: false });

/** Two convolutions beside what they are added to; a convolution of one place where the sizes differ. */
function residualBlock(from: number, to: number, stride: number) {
  const path = sequential(
    convolution(from, to, 3, stride),
    batchNorm(to),
    relu(),
    convolution(to, to, 3),
    batchNorm(to),
  );
  if (from === to) return sequential(residual(path), relu());
  const shortcut = sequential(convolution(from, to, 1, stride), batchNorm(to));
  const sum = block({ path, shortcut }, (calls, x: Tensor) => calls.path(x.ref).add(calls.shortcut(x)));
  return sequential(sum, relu());
}

/** For 32×32 images, as He et al. have it for CIFAR-10: three stages of one block each. */
const resnetModel = () =>
  sequential(
    sequential(convolution(3, 16, 3), batchNorm(16), relu()),
    residualBlock(16, 16, 1),
    residualBlock(16, 32, 2),
    residualBlock(32, 64, 2),
    sequential(avgPool2d(8), flatten(), linear(64, 10)),
  );

export const ENGINE_MODELS = {
  mlp: {
    title: "MLP 784-256-256-10, batch 128",
    steps: 20,
    make: (): Setup =>
      classified(sequential(linear(784, 256), relu(), linear(256, 256), relu(), linear(256, 10)), 128, 784),
  },
  cnn: {
    title: "LeNet on 28×28, batch 64",
    steps: 4,
    make: (): Setup => classified(lenetModel(), 64, 1, 28, 28),
  },
  resnet: {
    title: "ResNet-8 on 32×32, batch 32",
    steps: 2,
    make: (): Setup => classified(resnetModel(), 32, 3, 32, 32),
  },
  gpt: { title: "GPT 2 × 128, 4 heads, 8 × 64 tokens", steps: 4, make: (): Setup => gpt(2, 128, 4, 8, 64) },
  gptLarge: { title: "GPT 4 × 256, 8 heads, 8 × 128 tokens", steps: 2, make: (): Setup => gpt(4, 256, 8, 8, 128) },
} as const;

export type EngineModel = keyof typeof ENGINE_MODELS;

/** Large enough that several processes pay. torch-ranks.py has the same ones. */
export const RANK_MODELS = {
  mlpWide: {
    title: "MLP 784-1024-1024-10, batch 512",
    steps: 40,
    make: (): Setup =>
      classified(sequential(linear(784, 1024), gelu(), linear(1024, 1024), gelu(), linear(1024, 10)), 512, 784),
  },
  gptLarge: { ...ENGINE_MODELS.gptLarge, steps: 32 },
} as const;

export type RankModel = keyof typeof RANK_MODELS;
