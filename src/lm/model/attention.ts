// Attention between heads that are there already: grouped queries, windows, soft caps, with or without a cache.
import { nn, numpy as np } from "@jax-js/jax";
import type { Tensor } from "../../core/model.ts";
import { tap } from "../../nn/tap.ts";
import type { Architecture } from "../config/architecture.ts";

/** Low enough that its exponential is 0 next to any real score, yet finite. */
const HIDDEN = -1e30;

/**
 * [batch, time, heads · headDim] of queries [batch, heads, time, headDim] and keys and values
 * [batch, keyValueHeads, keys, headDim]. Consumes all; `visible` is [time, keys] or [batch, 1, time, keys].
 */
export function attend(architecture: Architecture, q: Tensor, k: Tensor, v: Tensor, visible: Tensor): Tensor {
  const { heads, keyValueHeads, headDim, scoreScale, scoreCap } = architecture;
  const [batch, , time] = q.shape as [number, number, number];
  const keys = k.shape[2]!;
  const group = heads / keyValueHeads;
  // Query heads that share keys stand below each other in one matrix: keys and values are not copied.
  const grouped = q.mul(scoreScale).reshape([batch, keyValueHeads, group * time, headDim]);
  let scores = np.matmul(grouped, k.transpose([0, 1, 3, 2]));
  if (scoreCap !== undefined) scores = np.tanh(scores.mul(1 / scoreCap)).mul(scoreCap);
  scores = tap("scores", scores.reshape([batch, heads, time, keys]));
  const weights = tap("pattern", nn.softmax(np.where(visible, scores, HIDDEN), -1));
  const mixed = np.matmul(weights.reshape([batch, keyValueHeads, group * time, keys]), v);
  return mixed
    .reshape([batch, heads, time, headDim])
    .transpose([0, 2, 1, 3])
    .reshape([batch, time, heads * headDim]);
}

/** [batch, time, heads · size] as [batch, heads, time, size]. */
export function headsOf(x: Tensor, heads: number): Tensor {
  const [batch, time, features] = x.shape as [number, number, number];
  return x.reshape([batch, time, heads, features / heads]).transpose([0, 2, 1, 3]);
}
