// The cache of keys and values, for generation: arrays of fixed size, so that one program serves every token.
import { numpy as np } from "@jax-js/jax";
import type { Tensor } from "../../core/model.ts";
import { isIndex } from "../../nn/layer.ts";

/** Keys and values of one layer: [batch, keyValueHeads, capacity, headDim] each. A type, so that programs can return it. */
export type KeyValues = {
  readonly k: Tensor;
  readonly v: Tensor;
};

/** Where a pass with a cache reads and writes. */
export interface DecodeCache {
  /** One for each layer. */
  readonly keyValues: readonly KeyValues[];
  /** int32 []: `ids` go into the slots from here on. */
  readonly start: Tensor;
  /**
   * int32 [batch], for sequences of different lengths: how many tokens each has after this pass. Each ends in the slot
   * before `start + time`, so that shorter ones have unused slots in front of them: their prompts are padded on the left.
   * Absent: all begin in slot 0.
   */
  readonly lengths?: Tensor;
}

/** The cache with `x` [batch, heads, time, size] in the slots from `start` on. Consumes both arrays. */
export function written(cache: Tensor, x: Tensor, start: Tensor): Tensor {
  const capacity = cache.shape[2]!;
  const time = x.shape[2]!;
  const from = np.arange(capacity).astype(np.int32).sub(start.ref);
  // Written by selection: there is no update of a slice.
  const isNew = isIndex(from.ref, time).reshape([1, 1, capacity, 1]);
  const spread = time === 1 ? x : np.take(x, np.clip(from.ref, 0, time - 1), 2);
  from.dispose();
  return np.where(isNew, spread, cache);
}
