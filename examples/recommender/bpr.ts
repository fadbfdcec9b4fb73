// Matrix factorisation: user and item are vectors, a score is their product plus what the item is worth to everyone.
// Trained by BPR (Bayesian personalised ranking): what a user chose should score above what the user has not seen.
import { nn, numpy as np } from "hookline/jax";
import type { LossModel, Tensor } from "hookline";
import type { Setup } from "hookline/experiment";
import { initKey } from "hookline/nn";
import { catalogueOf, type Interactions } from "./interactions.ts";
import { lookUp, rankingLoss } from "./scoring.ts";

export interface BprOptions {
  /** The length of the vectors. */
  readonly factors: number;
  /** Pulls the vectors of each batch towards zero (L2). */
  readonly regularisation: number;
}

export function bpr({ factors, regularisation }: BprOptions, { datasets, seed }: Setup<Interactions>): LossModel {
  const { users, items } = catalogueOf(datasets);
  const key = initKey(seed);
  return {
    params: {
      "user.weight": key.fold("user").normal([users, factors], 0, 0.1),
      "item.weight": key.fold("item").normal([items, factors], 0, 0.1),
      "item.bias": { data: new Float32Array(items), shape: [items, 1] },
    },
    loss(params, batch, { train }) {
      const user = lookUp(params["user.weight"]!, batch.user!);
      const [weight, bias] = [params["item.weight"]!, params["item.bias"]!];
      if (!train) {
        const scores = np.matmul(user, weight.transpose()).add(bias.transpose());
        return [rankingLoss(scores.ref, batch), scores];
      }
      /** The scores of items [B, n], and what regularisation makes of them. */
      const score = (ids: Tensor): [scores: Tensor, squares: Tensor] => {
        const vectors = lookUp(weight.ref, ids.ref);
        const worth = np.squeeze(lookUp(bias.ref, ids), 2);
        const scores = user.ref.reshape([-1, 1, factors]).mul(vectors.ref).sum(2).add(worth.ref);
        return [scores, np.square(vectors).sum(2).add(np.square(worth)).mean()];
      };
      const [chosen, chosenSquares] = score(batch.item!.reshape([-1, 1]));
      const [unseen, unseenSquares] = score(batch.negatives!);
      const squares = np.square(user).sum(1).mean().add(chosenSquares).add(unseenSquares);
      return nn
        .softplus(unseen.sub(chosen))
        .mean()
        .add(squares.mul(regularisation / 2));
    },
  };
}
