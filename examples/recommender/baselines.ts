// Recommenders without gradients: what a trained model must beat. Each gives scores [users, items].
import { numpy as np } from "hookline/jax";
import { type HostArray, type LossModel, type Metric, Trainer } from "hookline";
import type { DataLoader } from "hookline/data";
import { sgd } from "hookline/optim";
import { type Catalogue, frequencies, type Interactions, itemsByUser } from "./interactions.ts";

/** Everyone gets what most people chose. */
export function popularity(known: readonly Interactions[], { users, items }: Catalogue): HostArray {
  const data = new Float32Array(users * items);
  const parts = known.map(({ item }) => frequencies(item, items));
  for (let at = 0; at < data.length; at++) for (const part of parts) data[at]! += part[at % items]!;
  return { data, shape: [users, items] };
}

export interface ItemKnnOptions {
  /** How many of the items most similar to an item count. */
  readonly neighbours: number;
  /** Makes a similarity smaller that rests on few people. */
  readonly shrinkage: number;
}

/** Two items are similar if the same people chose them (cosine); a score is the similarity to all that a user chose. */
export function itemKnn(
  known: readonly Interactions[],
  { users, items }: Catalogue,
  options: ItemKnnOptions,
): HostArray {
  const chosen = itemsByUser(known, users);
  const choosers = Array.from({ length: items }, (): number[] => []);
  chosen.forEach((list, user) => list.forEach((item) => choosers[item]!.push(user)));
  const data = new Float32Array(users * items);
  for (let item = 0; item < items; item++) {
    const together = new Float32Array(items);
    for (const user of choosers[item]!) for (const other of chosen[user]!) together[other]!++;
    together[item] = 0;
    const similar = Array.from(together, (count, other) => {
      const norms = Math.sqrt(choosers[item]!.length * choosers[other]!.length);
      return { other, similarity: count === 0 ? 0 : count / (norms + options.shrinkage) };
    });
    similar.sort((a, b) => b.similarity - a.similarity);
    for (const { other, similarity } of similar.slice(0, options.neighbours))
      for (const user of choosers[other]!) data[user * items + item]! += similarity;
  }
  return { data, shape: [users, items] };
}

/** Evaluates given scores just as a trained model is: a Trainer with a model that has nothing to learn. */
export async function evaluateScores(
  scores: HostArray,
  metrics: Readonly<Record<string, Metric>>,
  loader: DataLoader,
): Promise<Record<string, number>> {
  const model: LossModel = {
    params: { scores },
    loss: (params, batch) => [np.zeros([]), np.take(params.scores!, batch.user!, 0)],
  };
  await using trainer = new Trainer({ model, metrics, optimizer: sgd({ lr: 1 }), train: loader });
  const { "test/loss": _none, ...results } = await trainer.evaluate(loader);
  return results;
}
