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
  /** int32 [batch]: the ids of each row go into its slots from here on. A slot is a position in the text. */
  readonly starts: Tensor;
}

/** The cache with `x` [batch, heads, time, size] in each row's slots from its start on. Consumes both arrays. */
export function written(cache: Tensor, x: Tensor, starts: Tensor): Tensor {
  const capacity = cache.shape[2]!;
  const [batch, heads, time, size] = x.shape as [number, number, number, number];
  const from = np
    .arange(capacity)
    .astype(np.int32)
    .reshape([1, capacity])
    .sub(starts.ref.reshape([batch, 1]));
  // Written by selection: there is no update of a slice.
  const isNew = isIndex(from.ref, time).reshape([batch, 1, capacity, 1]);
  if (time === 1) {
    from.dispose();
    return np.where(isNew, x, cache);
  }
  const rows = np.arange(batch).astype(np.int32).mul(time).reshape([batch, 1]);
  const index = np
    .clip(from, 0, time - 1)
    .add(rows)
    .reshape([batch * capacity]);
  const spread = np.take(x.transpose([0, 2, 1, 3]).reshape([batch * time, heads, size]), index, 0);
  return np.where(isNew, spread.reshape([batch, capacity, heads, size]).transpose([0, 2, 1, 3]), cache);
}
