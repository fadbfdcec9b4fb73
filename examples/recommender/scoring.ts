// What the models share: looking up vectors by id, and a loss for a ranking of the whole catalogue.
import { nn, numpy as np } from "hookline/jax";
import type { Tensor, TensorBatch } from "hookline";
import { NO_ITEM } from "./no-item.ts";

/** Rows of a table by id: [...] → [..., features]. NO_ITEM gives zeros. */
export function lookUp(table: Tensor, ids: Tensor): Tensor {
  const exists = ids.ref.notEqual(NO_ITEM).reshape([...ids.shape, 1]);
  // jax-js's jit cannot scatter the gradient of a bare `take`; behind a `where` it can.
  return np.where(exists, np.take(table, np.maximum(ids, 0), 0), 0);
}

/** How surprising the relevant items are (cross-entropy) if a softmax over all unseen items says what comes next. */
export function rankingLoss(scores: Tensor, batch: TensorBatch): Tensor {
  const relevant = batch.relevant!.ref;
  const exists = relevant.ref.notEqual(NO_ITEM).astype(np.float32);
  const logProbability = nn.logSoftmax(np.where(batch.seen!.ref, -1e9, scores), 1);
  const [users, items] = logProbability.shape as [number, number];
  const isIt = np
    .arange(items)
    .reshape([1, 1, items])
    .equal(relevant.reshape([users, -1, 1]));
  const found = np.where(isIt, logProbability.reshape([users, 1, items]), 0).sum(2);
  return found.mul(exists.ref).sum().div(exists.sum()).neg();
}
