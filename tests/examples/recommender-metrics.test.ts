// The ranking metrics against a slow implementation that sorts, and reads like the definitions.
import { type Metric, Trainer } from "hookline";
import { type Arrays, DataLoader, Rng } from "hookline/data";
import { sgd } from "hookline/optim";
import { expect, it } from "vitest";
import { evaluateScores } from "../../examples/recommender/baselines.ts";
import type { Interactions } from "../../examples/recommender/interactions.ts";
import { rankingData } from "../../examples/recommender/ranking-data.ts";
import { hitRate, mrr, ndcg, recall } from "../../examples/recommender/ranking-metrics.ts";

const METRICS = { hr: hitRate({ k: 3 }), recall: recall({ k: 3 }), ndcg: ndcg({ k: 3 }), mrr: mrr() };

/** Pairs of user and item, in time order. */
function interactions(...pairs: readonly (readonly [user: number, item: number])[]): Interactions {
  const user = Int32Array.from(pairs, ([u]) => u);
  const item = Int32Array.from(pairs, ([, i]) => i);
  const timestamp = Int32Array.from(pairs.keys());
  return { user, item, rating: new Float32Array(pairs.length), timestamp, userId: user, itemId: item };
}

async function evaluate(scores: number[][], data: Arrays, metrics: Record<string, Metric> = METRICS) {
  const shape = [scores.length, scores[0]!.length];
  // Batches of two, so that sums over batches count too.
  const loader = new DataLoader(data, { batchSize: 2 });
  const all = await evaluateScores({ data: Float32Array.from(scores.flat()), shape }, metrics, loader);
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name.slice("test/".length), value]));
}

/** Sorts a user's unseen items and looks where the relevant ones are; equal scores share the mean of their places. */
function slowRanks(scores: readonly number[], seen: ReadonlySet<number>, relevant: readonly number[]): number[] {
  const candidates = [...scores.keys()].filter((item) => !seen.has(item) || relevant.includes(item));
  const sorted = candidates.sort((a, b) => scores[b]! - scores[a]!);
  return relevant.map((item) => {
    const places = sorted.flatMap((other, i) => (scores[other] === scores[item] ? [i + 1] : []));
    return places.reduce((sum, place) => sum + place, 0) / places.length;
  });
}

function slowMetrics(ranks: readonly number[], k: number) {
  const found = ranks.filter((rank) => rank <= k);
  const discount = (rank: number): number => 1 / Math.log2(rank + 1);
  const ideal = ranks.slice(0, k).reduce((sum, _, i) => sum + discount(i + 1), 0);
  return {
    hr: Number(found.length > 0),
    recall: found.length / ranks.length,
    ndcg: found.reduce((sum, rank) => sum + discount(rank), 0) / ideal,
    mrr: 1 / Math.min(...ranks),
  };
}

it("agrees with the slow implementation on random rankings, with ties and several relevant items", async () => {
  const rng = new Rng(7);
  const [users, items] = [12, 15];
  // Few different scores: many ties.
  const scores = Array.from({ length: users }, () => Array.from({ length: items }, () => rng.int(6)));
  const pick = (): [number, number][] =>
    scores.flatMap((_, user) =>
      scores[0]!.flatMap((__, item): [number, number][] => (rng.int(4) === 0 ? [[user, item]] : [])),
    );
  const [seen, relevant] = [pick(), pick()];
  const slow = scores.flatMap((row, user) => {
    const of = (pairs: readonly [number, number][]) => pairs.filter(([u]) => u === user).map(([, item]) => item);
    const wanted = of(relevant);
    return wanted.length === 0 ? [] : [slowMetrics(slowRanks(row, new Set(of(seen)), wanted), 3)];
  });
  const mean = (name: "hr" | "recall" | "ndcg" | "mrr") =>
    slow.reduce((sum, each) => sum + each[name], 0) / slow.length;

  const fast = await evaluate(
    scores,
    rankingData(interactions(...relevant), [interactions(...seen)], { users, items }),
  );
  expect(slow.length).toBeGreaterThan(8);
  for (const name of ["hr", "recall", "ndcg", "mrr"] as const) expect(fast[name]).toBeCloseTo(mean(name), 5);
  expect(fast.ndcg).toBeGreaterThan(0);
  expect(fast.ndcg).toBeLessThan(1);
});

it("leaves out what was seen, so that it takes nobody's place", async () => {
  const scores = [[9, 8, 7, 1, 0]];
  const known = interactions([0, 0], [0, 1], [0, 2]);
  const ranked = await evaluate(scores, rankingData(interactions([0, 3]), [known], { users: 1, items: 5 }));
  expect(ranked).toEqual({ hr: 1, recall: 1, ndcg: 1, mrr: 1 });
  const unfiltered = await evaluate(scores, rankingData(interactions([0, 3]), [], { users: 1, items: 5 }));
  expect(unfiltered).toEqual({ hr: 0, recall: 0, ndcg: 0, mrr: 0.25 });
});

it("gives a model that scores all items alike nothing for it, and one that has diverged less", async () => {
  const data = rankingData(interactions([0, 0]), [], { users: 1, items: 9 });
  expect((await evaluate([Array<number>(9).fill(1)], data)).mrr).toBeCloseTo(1 / 5);
  const diverged = await evaluate([Array<number>(9).fill(Number.NaN)], data);
  expect(diverged).toMatchObject({ hr: 0, ndcg: 0 });
  expect(diverged.mrr).toBeLessThan(1 / 8);
});

it("is for evaluations alone: a training step ranks nothing", async () => {
  const loader = new DataLoader(rankingData(interactions([0, 0]), [], { users: 1, items: 2 }), { batchSize: 1 });
  const params = { scores: { data: Float32Array.of(2, 1), shape: [1, 2] } };
  const trainer = new Trainer({
    model: {
      params,
      loss: ({ scores }, _batch, { train }) => (train ? scores!.sum() : [scores!.ref.sum(), scores!]),
    },
    metrics: METRICS,
    optimizer: sgd({ lr: 0.1 }),
    train: loader,
    eval: loader,
    epochs: 1,
  });
  const { metrics } = await trainer.fit();
  expect(metrics["val/ndcg"]).toBe(1);
  expect(Object.keys(metrics).filter((name) => name.startsWith("train/"))).toEqual(["train/loss"]);
  await trainer.close();
});
