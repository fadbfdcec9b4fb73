// A model for every layer of hookline/nn, and a few that combine them, each with batches of any number of rows.
import { lax, nn as jnn, numpy as np } from "@jax-js/jax";
import type { HostArray, HostBatch, Model, Outputs, Tensor } from "hookline";
import * as nn from "hookline/nn";
import { sizeOf } from "../../src/core/arrays.ts";
import { pure } from "../../src/nn/layer.ts";

export interface ZooModel {
  readonly model: Model<never>;
  /** The same numbers for the same rows: row i does not depend on how many there are. */
  readonly batch: (rows: number) => HostBatch;
}

const floats = (shape: readonly number[], scale = 1.5): HostArray => ({
  data: Float32Array.from({ length: sizeOf(shape) }, (_, i) => Math.sin(i * 12.9898 + 1) * scale + 0.1),
  shape,
});
const ids = (shape: readonly number[], below: number): HostArray => ({
  data: Int32Array.from({ length: sizeOf(shape) }, (_, i) => (i * 7 + 3) % below),
  shape,
});

const on = (shape: readonly number[], model: Model<never>, scale?: number): ZooModel => ({
  model,
  batch: (rows) => ({ x: floats([rows, ...shape], scale) }),
});
const onIds = (shape: readonly number[], below: number, model: Model<never>): ZooModel => ({
  model,
  batch: (rows) => ({ x: ids([rows, ...shape], below) }),
});

/** The model with its logits computed, as whoever reads its outputs gets them. */
const computed = (model: Model<Tensor>): Model<Tensor> => ({
  ...model,
  apply: (params, x, ctx) => nn.logitsOf(model.apply(params, x, ctx) as Outputs),
});

const image = [3, 8, 9];
const tokens = [6, 8];

export const LAYERS: Readonly<Record<string, ZooModel>> = {
  linear: on([5], nn.linear(5, 4)),
  "linear without bias, on sequences": on([3, 5], nn.linear(5, 4, { bias: false })),
  deferredLinear: on([3, 5], computed(nn.deferredLinear(5, 4))),
  embedding: onIds([4], 11, nn.embedding(11, 6)),
  flatten: on(image, nn.flatten()),
  dropout: on([5], nn.dropout(0.5)),
  conv2d: on(image, nn.conv2d(3, 5, { kernel: 3, padding: 1 })),
  "conv2d with strides, no bias": on(image, nn.conv2d(3, 4, { kernel: [3, 2], stride: [2, 3], bias: false })),
  "conv2d with stride and padding": on(image, nn.conv2d(3, 4, { kernel: 3, stride: 2, padding: [1, 0] })),
  maxPool2d: on(image, nn.maxPool2d(2)),
  "maxPool2d with padding": on(image, nn.maxPool2d(3, { stride: 2, padding: 1 })),
  avgPool2d: on(image, nn.avgPool2d(2)),
  "avgPool2d with padding": on(image, nn.avgPool2d(3, { stride: 2, padding: 1 })),
  batchNorm: on([4], nn.batchNorm(4)),
  "batchNorm of images": on(image, nn.batchNorm(3)),
  layerNorm: on([3, 5], nn.layerNorm(5)),
  rmsNorm: on([3, 5], nn.rmsNorm(5)),
  multiHeadAttention: on(tokens, nn.multiHeadAttention(8, 2)),
  "multiHeadAttention, causal": on(tokens, nn.multiHeadAttention(8, 4, { causal: true, bias: false })),
  relu: on([5], nn.relu()),
  leakyRelu: on([5], nn.leakyRelu()),
  gelu: on([5], nn.gelu()),
  silu: on([5], nn.silu()),
  sigmoid: on([5], nn.sigmoid()),
  tanh: on([5], nn.tanh()),
  softmax: on([5], nn.softmax()),
  logSoftmax: on([5], nn.logSoftmax()),
  remat: on([5], nn.remat(nn.sequential(nn.linear(5, 7), nn.gelu()))),
  stack: on(
    [5],
    nn.stack({ embed: nn.linear(5, 6), block: nn.residual(nn.linear(6, 6)), count: 2, head: nn.linear(6, 3) }),
  ),
  sequential: on([5], nn.sequential(nn.linear(5, 7), nn.gelu(), nn.linear(7, 2))),
  mlp: on([5], nn.mlp({ in: 5, out: 3, hidden: [7, 6], dropout: 0.2 })),
  residual: on([5], nn.residual(nn.sequential(nn.linear(5, 5), nn.tanh()))),
  block: on(
    [5],
    nn.block({ a: nn.linear(5, 3), b: nn.linear(5, 2) }, ({ a, b }, x: Tensor) => ({
      one: a(x.ref),
      two: b(x),
    })),
  ),
};

const raw = (forward: (x: Tensor) => Tensor): Model<never> => pure(forward);

/** Code of users, with primitives that no layer has. */
export const RAW: Readonly<Record<string, ZooModel>> = {
  "a convolution of jax-js": on(
    image,
    raw((x) =>
      lax.convGeneralDilated(
        x,
        np.ones([2, 3, 2, 2]),
        [1, 2],
        [
          [1, 0],
          [0, 1],
        ],
        { rhsDilation: [2, 1] },
      ),
    ),
  ),
  "grouped convolution": on(
    [4, 5, 5],
    raw((x) => lax.convGeneralDilated(x, np.ones([4, 2, 2, 2]), [1, 1], "VALID", { featureGroupCount: 2 })),
  ),
  "transposed convolution": on(
    [2, 4, 4],
    raw((x) => lax.convTranspose(x, np.ones([3, 2, 2, 2]).mul(0.5), [2, 2], "VALID")),
  ),
  "windows reduced": on(
    image,
    raw((x) => lax.reduceWindow(x, (w: Tensor) => np.max(w), [2, 2], [2, 2])),
  ),
  "sort and argsort": on(
    [7],
    raw((x) => np.sort(x.ref, -1).add(np.argsort(x, -1).astype(np.float32))),
  ),
  "cumulative sum": on(
    [7],
    raw((x) => np.cumsum(x, -1)),
  ),
  flip: on(
    [7],
    raw((x) => np.flip(x, -1)),
  ),
  "arg max": on(
    [7],
    raw((x) => np.argmax(x, -1).reshape([-1, 1]).astype(np.float32)),
  ),
  "take along": on(
    [7],
    raw((x) => np.take(x, np.array([4, 0, 2], { dtype: np.int32 }), 1)),
  ),
  "last row of a sequence": on(
    [4, 3],
    raw((x) => x.slice([], -1)),
  ),
  comparisons: on(
    [7],
    raw((x) => np.where(x.ref.greater(0.2), np.floor(x.ref), np.ceil(x.mul(3))).add(1)),
  ),
  "whole numbers": onIds(
    [7],
    23,
    raw((x) =>
      x.ref.mod(5).add(x.ref.div(3)).mul(2).sub(np.minimum(x.ref, 4)).add(np.maximum(x, 9)).astype(np.float32),
    ),
  ),
  trigonometry: on(
    [7],
    raw((x) =>
      np
        .sin(x.ref)
        .add(np.cos(x.ref))
        .add(np.arctan(x.ref))
        .add(np.arcsin(np.tanh(x))),
    ),
  ),
  "error functions": on(
    [7],
    raw((x) => lax.erf(x.ref).add(lax.erfc(x))),
  ),
  "powers and roots": on(
    [7],
    raw((x) =>
      np
        .sqrt(np.abs(x.ref))
        .add(np.log(np.abs(x.ref).add(1)))
        .add(np.exp(x.mul(-1))),
    ),
  ),
  "a state of zeros": on(
    [3],
    raw((x) =>
      np
        .concatenate([x.ref, np.zeros([x.shape[0]!, 2])], 1)
        .add(np.ones([x.shape[0]!, 5]).mul(x.sum(1, { keepdims: true }))),
    ),
  ),
  "scores of a sequence with itself": on(
    [4, 6],
    raw((x) => np.matmul(x.ref, x.transpose([0, 2, 1]))),
  ),
  "rows of pairs": on(
    [6],
    raw((x) => x.reshape([-1, 3]).mul(2).reshape([-1, 6])),
  ),
  "softmax over rows of a matrix product": on(
    [5],
    raw((x) => jnn.softmax(np.matmul(x, np.ones([5, 3])), -1)),
  ),
  bits: onIds(
    [5],
    19,
    raw((x) => np.bitwiseAnd(x.ref, 6).add(np.bitwiseXor(x, 5)).astype(np.float32)),
  ),
};

/** What ONNX has no operator for. */
export const NOT_IN_ONNX: Readonly<Record<string, ZooModel>> = {
  bit_shift: onIds(
    [5],
    19,
    raw((x) => np.leftShift(x, np.array(2, { dtype: np.int32 })).astype(np.float32)),
  ),
  cholesky: on(
    [3, 3],
    raw((x) => np.linalg.cholesky(np.matmul(x.ref, x.transpose([0, 2, 1])).add(np.eye(3)))),
  ),
  fft: on(
    [8],
    raw((x) => np.fft.fft({ real: x.ref, imag: x.mul(0) }).real),
  ),
};
