// How good a ranking of the whole catalogue is: HR@k, nDCG@k, recall@k and MRR, each the mean over users.
//
// A model's outputs are scores [users, items]; the batch says which items are `relevant` [users, r] and which are
// `seen` [users, items] (ranking-data.ts). An item's rank is its place among all unseen items, from 1. Items of equal
// score share the mean of their places, so that neither a constant model nor a coarse one (popularity) gains or loses
// by the order of the catalogue. A score that is NaN is the worst for the item that has it and the best for the others.
import { numpy as np } from "hookline/jax";
import type { Metric, Outputs, Tensor, TensorBatch } from "hookline";
import { NO_ITEM } from "./no-item.ts";

interface Ranks {
  /** [users, r], infinite where there is no item. */
  readonly rank: Tensor;
  /** [users]: how many relevant items each has. */
  readonly relevant: Tensor;
}

/** At least one relevant item among the first k. */
export const hitRate = ({ k }: { k: number }): Metric => meanOverUsers(({ rank }) => within(rank, k).max(1));

/** The share of the relevant items that are among the first k. */
export const recall = ({ k }: { k: number }): Metric =>
  meanOverUsers(({ rank, relevant }) => within(rank, k).sum(1).div(relevant.ref));

/** The relevant items among the first k, discounted by 1 / log2(rank + 1), relative to the best that is possible. */
export const ndcg = ({ k }: { k: number }): Metric =>
  meanOverUsers(({ rank, relevant }) => {
    const gains = within(rank.ref, k).div(np.log2(np.where(np.isfinite(rank.ref), rank, 1).add(1)));
    const places = np.arange(Math.min(k, rank.shape[1]!)).astype(np.float32);
    const ideal = np.where(places.ref.less(relevant.ref.reshape([-1, 1])), np.reciprocal(np.log2(places.add(2))), 0);
    return gains.sum(1).div(ideal.sum(1));
  });

/** One by the rank of the first relevant item, however far down it is. */
export const mrr = (): Metric => meanOverUsers(({ rank }) => np.reciprocal(rank.min(1)));

const within = (rank: Tensor, k: number): Tensor => rank.lessEqual(k).astype(np.float32);

/** A metric that is one number for each user, averaged over those who have something to be found. */
function meanOverUsers(perUser: (ranks: Ranks) => Tensor): Metric {
  return {
    // While training, a model scores a sample of the items: there is nothing to be ranked.
    evalOnly: true,
    update(outputs, batch) {
      const ranks = rank(outputs, batch);
      const counted = ranks.relevant.ref.greater(0);
      return { sum: np.where(counted.ref, perUser(ranks), 0).sum(), users: counted.astype(np.float32).sum() };
    },
    compute: ({ sum, users }) => sum! / users!,
  };
}

/** The ranks of the relevant items among all items that the user has not seen. */
function rank(outputs: Outputs, batch: TensorBatch): Ranks {
  const scores = outputs as Tensor;
  const relevant = batch.relevant!;
  const [users, items] = scores.shape as [number, number];
  const exists = relevant.ref.notEqual(NO_ITEM);
  const all = scores.reshape([users, 1, items]);
  const isIt = np
    .arange(items)
    .reshape([1, 1, items])
    .equal(relevant.reshape([users, -1, 1]));
  const own = np.where(isIt, all.ref, 0).sum(2, { keepdims: true });
  const unseen = np.where(batch.seen!, 0, 1).reshape([users, 1, items]);
  // Counting the items below, rather than those above, makes NaN lose.
  const below = np.where(all.ref.less(own.ref), unseen.ref, 0).sum(2);
  const equal = np.where(all.equal(own), unseen.ref, 0).sum(2);
  const place = unseen.sum(2).sub(below).astype(np.float32).sub(equal.sub(1).astype(np.float32).div(2));
  return { rank: np.where(exists.ref, place, Number.POSITIVE_INFINITY), relevant: exists.astype(np.float32).sum(1) };
}
