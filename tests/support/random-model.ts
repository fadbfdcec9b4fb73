// A model, its data, loss and optimizer from a seed: layers of hookline/nn and raw jax-js code in any order, in sizes
// that are one, prime, or larger than a vector.
import { nn as jnn, numpy as np } from "@jax-js/jax";
import type { HostArray, Loss, Model, Tensor } from "hookline";
import { Rng } from "hookline/data";
import * as nn from "hookline/nn";
import { adam, adamw, lion, rmsprop, sgd } from "hookline/optim";
import { sizeOf } from "../../src/core/arrays.ts";
import type { Optimizer } from "../../src/core/optimizer.ts";
import { pure } from "../../src/nn/layer.ts";

export interface RandomModel {
  /** What it is made of, for a message. */
  readonly outline: string;
  readonly model: Model;
  readonly data: { readonly x: HostArray; readonly y: HostArray };
  readonly loss: Loss;
  readonly optimizer: () => Optimizer;
  /** Its update is the gradient times a rate: then the parameters show every gradient. */
  readonly isPlain: boolean;
  /** How far the first step moves a parameter with a gradient, by an optimizer that divides by the gradient's size. */
  readonly wholeStep: number;
  readonly lr: number;
  readonly batchSize: number;
  readonly accumulate: number;
  readonly clipNorm: number | undefined;
  readonly threads: number;
}

const SMALL = { batch: [1, 2, 3, 5, 8], tokens: [1, 2, 7, 8], width: [1, 2, 3, 5, 8, 13, 17, 32], work: 300_000 };
/** Worth dividing between threads. */
const LARGE = { batch: [8, 12, 16, 33], tokens: [16, 31, 64], width: [16, 31, 48, 128], work: 6_000_000 };
const IMAGE_SIDES = [4, 5, 8, 12];
const VOCABULARIES = [2, 11, 120, 257];

class Maker {
  readonly rng: Rng;
  readonly size: typeof SMALL;
  readonly names: string[] = [];
  readonly layers: Model<Tensor, Tensor>[] = [];
  readonly batchSize: number;
  readonly accumulate: number;
  /** Of the values between the layers. */
  shape: number[] = [];

  constructor(seed: number) {
    this.rng = new Rng(seed);
    this.size = this.rng.int(3) === 0 ? LARGE : SMALL;
    this.batchSize = this.pick(this.size.batch);
    this.accumulate = this.chance(4) ? 2 : 1;
  }

  /** The shape of the data of a whole step. */
  data(shape: readonly number[]): number[] {
    return [this.accumulate * this.batchSize, ...shape.slice(1)];
  }

  pick<T>(from: readonly T[]): T {
    return from[this.rng.int(from.length)]!;
  }

  chance(of: number): boolean {
    return this.rng.int(of) === 0;
  }

  floats(shape: readonly number[]): HostArray<Float32Array> {
    return { data: Float32Array.from({ length: sizeOf(shape) }, () => this.rng.normal()), shape };
  }

  wholes(shape: readonly number[], below: number): HostArray {
    return { data: Int32Array.from({ length: sizeOf(shape) }, () => this.rng.int(below)), shape };
  }

  add(name: string, layer: Model<Tensor, Tensor>, shape = this.shape): void {
    this.names.push(name);
    this.layers.push(layer);
    this.shape = shape;
  }

  /** A width for the last dimension that a product can afford. */
  width(): number {
    const rows = sizeOf(this.shape);
    const fitting = this.size.width.filter((n) => n * rows <= this.size.work);
    return fitting.length > 0 ? this.pick(fitting) : 1;
  }
}

type Step = (m: Maker) => void;

const last = (m: Maker): number => m.shape.at(-1)!;
const withLast = (m: Maker, n: number): number[] => [...m.shape.slice(0, -1), n];
const raw = (name: string, forward: (x: Tensor) => Tensor, shape?: (m: Maker) => number[]): Step => {
  return (m) => m.add(name, pure(forward), shape?.(m));
};

/** A layer with one parameter of its own. */
const withParam = (shape: readonly number[], forward: (x: Tensor, param: Tensor) => Tensor): Model<Tensor, Tensor> => ({
  init: (key) => ({ own: key.normal(shape, 0, 0.5) }),
  apply: (params, x) => forward(x, params.own!),
});

const positions: Step = (m) => {
  const own = m.shape.slice(1);
  m.add(
    "learned positions",
    withParam(own, (x, places) => x.add(places)),
  );
};

/** For values of any rank whose last dimension is features. */
const ON_FEATURES: Step[] = [
  (m) => {
    const n = m.width();
    m.add(`linear ${n}`, nn.linear(last(m), n, { bias: !m.chance(4) }), withLast(m, n));
  },
  (m) => {
    const n = m.width();
    m.add(`linear ${n}`, nn.linear(last(m), n), withLast(m, n));
  },
  (m) => m.add("layerNorm", nn.layerNorm(last(m), { bias: !m.chance(3) })),
  (m) => m.add("rmsNorm", nn.rmsNorm(last(m))),
  (m) => m.add("dropout", nn.dropout(0.25)),
  (m) => m.add("residual", nn.residual(nn.sequential(nn.linear(last(m), last(m)), nn.tanh()))),
  (m) => {
    const acts = { relu: nn.relu, gelu: nn.gelu, tanh: nn.tanh, sigmoid: nn.sigmoid, silu: nn.silu };
    const name = m.pick(Object.keys(acts) as (keyof typeof acts)[]);
    m.add(name, acts[name]());
  },
  (m) => m.add("leakyRelu", nn.leakyRelu()),
  raw("softmax", (x) => jnn.softmax(x, -1)),
  raw("cumsum", (x) => np.cumsum(x, -1)),
  // Of a long row, some numbers are as close as rounding: their order, and so whose gradient is whose, is anyone's guess.
  (m) => (m.shape.at(-1)! <= 256 ? raw("sort", (x) => np.sort(x, -1))(m) : undefined),
  raw("flip", (x) => np.flip(x, -1)),
  raw("where", (x) => np.where(x.ref.greater(0.1), x.ref.mul(2), np.sin(x))),
  raw("centred", (x) => x.ref.sub(x.mean(-1, { keepdims: true }))),
  raw("by the largest", (x) => x.ref.sub(x.max(-1, { keepdims: true }))),
  raw("gate", (x) => x.ref.mul(jnn.sigmoid(x))),
  raw("turned and back", (x) => np.moveaxis(np.exp(np.moveaxis(x, 0, -1).mul(0.1)), -1, 0)),
  (m) => {
    const rank = m.shape.length;
    const width = m.shape.map((_, i): [number, number] => (i === rank - 1 ? [1, 2] : [0, 0]));
    m.add(
      "pad",
      pure((x) => np.pad(x, width)),
      withLast(m, last(m) + 3),
    );
  },
  (m) => {
    if (last(m) < 3) return;
    const to = last(m) - 1;
    m.add(
      "slice",
      pure((x) => np.take(x, np.arange(1, to), -1)),
      withLast(m, to - 1),
    );
  },
  (m) => {
    if (last(m) > 64) return;
    m.add(
      "concatenate",
      pure((x) => np.concatenate([x.ref, x.mul(-0.5)], -1)),
      withLast(m, 2 * last(m)),
    );
  },
  (m) => {
    const own = [last(m)];
    m.add(
      "scale",
      withParam(own, (x, scale) => x.mul(scale)),
    );
  },
  positions,
  (m) => {
    const n = m.pick(m.size.width);
    const own = [n, last(m)];
    m.add(
      `bottleneck ${n}`,
      withParam(own, (x, w) => np.matmul(jnn.relu(np.matmul(x, w.ref.transpose())), w)),
    );
  },
];

const ON_SEQUENCES: Step[] = [
  (m) => {
    const width = last(m);
    if (m.shape[0]! * m.shape[1]! ** 2 * width > m.size.work) return;
    const heads = m.pick([1, 2, 4].filter((n) => width % n === 0));
    const causal = m.chance(2);
    m.add(`attention ${heads}${causal ? " causal" : ""}`, nn.multiHeadAttention(width, heads, { causal }));
  },
  raw("cumsum of tokens", (x) => np.cumsum(x, 1).mul(0.3)),
  raw("sort of tokens", (x) => np.sort(x, 1)),
  raw("flip of tokens", (x) => np.flip(x, 1)),
  raw("mixed tokens", (x) => x.ref.add(x.mean(1, { keepdims: true }))),
  (m) => {
    const tokens = m.shape[1]!;
    const ids = m.wholes([tokens], tokens);
    const rows = (): Tensor => np.array(ids.data as Float32Array<ArrayBuffer>, { shape: [tokens] });
    m.add(
      "tokens by ids",
      pure((x) => np.take(x, rows(), 1)),
    );
  },
];

const ON_IMAGES: Step[] = [
  (m) => {
    const [, channels, height, width] = m.shape as [number, number, number, number];
    const [out, kernel, padding, stride] = [m.pick([1, 2, 3, 5]), m.pick([1, 2, 3]), m.rng.int(2), 1 + m.rng.int(2)];
    const side = (n: number): number => Math.floor((n + 2 * padding - kernel) / stride) + 1;
    if (side(height) < 1 || side(width) < 1) return;
    const layer = nn.conv2d(channels, out, { kernel, padding, stride, bias: !m.chance(4) });
    m.add(`conv2d ${out}, kernel ${kernel}`, layer, [m.shape[0]!, out, side(height), side(width)]);
  },
  (m) => {
    const [batch, channels, height, width] = m.shape as [number, number, number, number];
    if (height < 2 || width < 2) return;
    const [name, make] = m.pick([["maxPool2d", nn.maxPool2d] as const, ["avgPool2d", nn.avgPool2d] as const]);
    m.add(name, make(2), [batch, channels, Math.floor(height / 2), Math.floor(width / 2)]);
  },
  (m) => m.add("tanh", nn.tanh()),
  (m) => m.add("gelu", nn.gelu()),
];

/** Needs more than one row. */
const batchNorm: Step = (m) => {
  if (m.shape[0]! > 1 && (m.shape.length === 2 || m.shape.length === 4)) {
    m.add("batchNorm", nn.batchNorm(m.shape[1]!));
  }
};

const TO_VECTORS: Step[] = [
  raw(
    "mean of tokens",
    (x) => x.mean(1),
    (m) => [m.shape[0]!, last(m)],
  ),
  raw(
    "largest of tokens",
    (x) => x.max(1),
    (m) => [m.shape[0]!, last(m)],
  ),
  raw(
    "last token",
    (x) => x.slice([], -1),
    (m) => [m.shape[0]!, last(m)],
  ),
  (m) => m.add("flatten", nn.flatten(), [m.shape[0]!, sizeOf(m.shape.slice(1))]),
];

function steps(m: Maker, kinds: readonly Step[], most: number): void {
  const count = m.rng.int(most + 1);
  for (let i = 0; i < count; i++) m.pick(kinds)(m);
}

/** Floats, tokens or images, and the first layers. */
function begin(m: Maker): HostArray {
  const batch = m.batchSize;
  const kind = m.pick(["vectors", "tokens", "tokens", "images"] as const);
  if (kind === "vectors") {
    m.shape = [batch, m.pick(m.size.width)];
    const x = m.floats(m.data(m.shape));
    m.names.push(`vectors [${m.shape.join()}]`);
    steps(m, [...ON_FEATURES, batchNorm], 5);
    return x;
  }
  if (kind === "images") {
    m.shape = [batch, m.pick([1, 2, 3]), m.pick(IMAGE_SIDES), m.pick(IMAGE_SIDES)];
    const x = m.floats(m.data(m.shape));
    m.names.push(`images [${m.shape.join()}]`);
    steps(m, [...ON_IMAGES, batchNorm], 4);
    m.add("flatten", nn.flatten(), [batch, sizeOf(m.shape.slice(1))]);
    steps(m, [...ON_FEATURES, batchNorm], 2);
    return x;
  }
  const [tokens, words, width] = [m.pick(m.size.tokens), m.pick(VOCABULARIES), m.pick(m.size.width)];
  const x = m.wholes(m.data([batch, tokens]), words);
  m.names.push(`tokens [${batch},${tokens}] of ${words}`);
  const shape = [batch, tokens, width];
  if (m.chance(2)) m.add(`embedding ${width}`, nn.embedding(words, width), shape);
  else
    m.add(
      `take ${width}`,
      withParam([words, width], (ids, table) => np.take(table, ids, 0)),
      shape,
    );
  if (m.chance(2)) positions(m);
  steps(m, [...ON_FEATURES, ...ON_SEQUENCES, ...ON_SEQUENCES], 5);
  if (m.chance(2)) {
    m.pick(TO_VECTORS)(m);
    steps(m, [...ON_FEATURES, batchNorm], 2);
  }
  return x;
}

function lossOf(m: Maker): { readonly name: string; readonly loss: Loss; readonly y: HostArray } {
  const shape = m.data(m.shape);
  const name = m.pick(["crossEntropy", "crossEntropy", "mse", "l1", "huber", "bceWithLogits"] as const);
  if (name === "crossEntropy") {
    return { name, loss: nn.crossEntropy(), y: m.wholes(shape.slice(0, -1), last(m)) };
  }
  if (name === "bceWithLogits") {
    const { data } = m.wholes(shape, 2);
    return { name, loss: nn.bceWithLogits(), y: { data: Float32Array.from(data), shape } };
  }
  return { name, loss: { mse: nn.mse, l1: nn.l1, huber: nn.huber }[name](), y: m.floats(shape) };
}

const OPTIMIZERS: Record<string, (lr: number) => Optimizer> = {
  "sgd with momentum": (lr) => sgd({ lr, momentum: 0.9, nesterov: true }),
  adam: (lr) => adam({ lr }),
  adamw: (lr) => adamw({ lr, weightDecay: 0.1 }),
  rmsprop: (lr) => rmsprop({ lr, momentum: 0.5 }),
  lion: (lr) => lion({ lr }),
};

export function randomModel(seed: number): RandomModel {
  const m = new Maker(seed);
  const { batchSize, accumulate } = m;
  const x = begin(m);
  const classes = 1 + m.width();
  m.add(`linear ${classes}`, nn.linear(last(m), classes), withLast(m, classes));
  const { name, loss, y } = lossOf(m);
  const isPlain = !m.chance(3);
  const kind = isPlain ? "sgd" : m.pick(Object.keys(OPTIMIZERS));
  const lr = isPlain ? 1 : 0.01;
  const clipNorm = m.chance(4) ? 0.5 : undefined;
  const threads = m.pick([1, 2, 2, 3, 4]);
  const settings = [name, kind, `accumulate ${accumulate}`, clipNorm ? "clipped" : "", `${threads} threads`];
  return {
    outline: [...m.names, ...settings.filter(Boolean)].join(" → "),
    model: nn.sequential(...(m.layers as nn.Layer[])),
    data: { x, y },
    loss,
    optimizer: () => (isPlain ? sgd({ lr }) : OPTIMIZERS[kind]!(lr)),
    isPlain,
    // RMSprop's average of squares begins with a hundredth of the first square.
    wholeStep: kind === "rmsprop" ? 10 * lr : lr,
    lr,
    batchSize,
    accumulate,
    clipNorm,
    threads,
  };
}
