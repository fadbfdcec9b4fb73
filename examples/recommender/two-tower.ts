// Two towers: one makes a vector of a user (who it is, and what was chosen last), the other one of an item. The score is
// their cosine. Trained by a softmax over the items of the batch: which of them did this user choose?
import { nn, numpy as np } from "hookline/jax";
import type { LossModel, Tensor, TensorBatch } from "hookline";
import type { Setup } from "hookline/experiment";
import { block, dropout, initKey, linear, relu, residual, sequential } from "hookline/nn";
import { catalogueOf, type Interactions } from "./interactions.ts";
import { NO_ITEM } from "./no-item.ts";
import { lookUp, rankingLoss } from "./scoring.ts";

export interface TwoTowerOptions {
  /** The length of the vectors. */
  readonly factors: number;
  /** Units in the hidden layer of each tower. */
  readonly hidden: number;
  readonly dropout: number;
  /** Scores are cosines divided by this: the smaller, the more the best of the batch count. */
  readonly temperature: number;
}

export function twoTower(options: TwoTowerOptions, { datasets, seed }: Setup<Interactions>): LossModel {
  const { users, items } = catalogueOf(datasets);
  const { factors, hidden, temperature } = options;
  const tower = () =>
    residual(sequential(dropout(options.dropout), linear(factors, hidden), relu(), linear(hidden, factors)));
  const towers = block(
    {
      users: (key) => key.normal([users, factors], 0, 0.1),
      items: (key) => key.normal([items, factors], 0, 0.1),
      userTower: tower(),
      itemTower: tower(),
    },
    (part, batch: TensorBatch, { train }) => {
      const person = lookUp(part.users(), batch.user!).add(meanOf(part.items(), batch.history!));
      const item = train ? lookUp(part.items(), batch.item!) : part.items();
      return { user: unit(part.userTower(person)), item: unit(part.itemTower(item)) };
    },
  );
  return {
    params: towers.init(initKey(seed)),
    loss(params, batch, ctx) {
      const { user, item } = towers.apply(params, batch, ctx) as { user: Tensor; item: Tensor };
      const scores = np.matmul(user, item.transpose()).div(temperature);
      return ctx.train ? inBatchLoss(scores, batch) : [rankingLoss(scores.ref, batch), scores];
    },
  };
}

/** The mean vector of some items [B, h]. */
function meanOf(table: Tensor, ids: Tensor): Tensor {
  const count = ids.ref.notEqual(NO_ITEM).astype(np.float32).sum(1, { keepdims: true });
  return lookUp(table, ids).sum(1).div(np.maximum(count, 1));
}

const unit = (x: Tensor): Tensor => x.ref.div(np.sqrt(np.square(x).sum(1, { keepdims: true }).add(1e-6)));

/** Scores [B, B] of each user for each item of the batch; the diagonal is what was chosen. */
function inBatchLoss(scores: Tensor, batch: TensorBatch): Tensor {
  const size = scores.shape[0]!;
  // What is popular is often a negative just because it is in many batches: its share takes that back.
  const corrected = scores.sub(np.log(batch.share!).reshape([1, size]));
  const logProbability = nn.logSoftmax(np.where(batch.seen!, -1e9, corrected), 1);
  return np.where(np.eye(size).greater(0), logProbability, 0).sum().div(-size);
}
