// What the recommender example makes of data before a model sees it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rng, type HostBatch } from "hookline/data";
import { expect, it } from "vitest";
import { itemKnn, popularity } from "../../examples/recommender/baselines.ts";
import { inBatch, withNegatives } from "../../examples/recommender/batches.ts";
import { ratings } from "../../examples/recommender/data.ts";
import { histories, HISTORY_LENGTH } from "../../examples/recommender/history.ts";
import { InteractionLoader } from "../../examples/recommender/interaction-loader.ts";
import {
  catalogueOf,
  frequencies,
  type Interactions,
  itemsByUser,
  kCore,
} from "../../examples/recommender/interactions.ts";
import { NO_ITEM } from "../../examples/recommender/no-item.ts";
import { titles } from "../../examples/recommender/titles.ts";

const data = ratings();
const core = kCore(data, 20);
const catalogue = catalogueOf({ train: core });

it("reads every rating, with ids from 0", () => {
  expect(data.user.length).toBe(100_004);
  expect(catalogueOf({ train: data })).toEqual({ users: 671, items: 9066 });
  expect([data.userId[0], data.itemId[0], data.rating[0], data.timestamp[0]]).toEqual([1, 31, 2.5, 1_260_759_144]);
});

it("filters to a k-core: nobody and nothing in it has fewer, and names stay with their rows", () => {
  expect(Math.min(...frequencies(core.user))).toBeGreaterThanOrEqual(20);
  expect(Math.min(...frequencies(core.item))).toBeGreaterThanOrEqual(20);
  const named = (from: Interactions, row: number) => `${from.userId[row]} ${from.itemId[row]} ${from.timestamp[row]}`;
  const all = new Set(Array.from(data.user, (_, row) => named(data, row)));
  expect(Array.from(core.user, (_, row) => named(core, row)).every((name) => all.has(name))).toBe(true);
  expect(new Set(Array.from(core.item, (item, row) => `${item} ${core.itemId[row]}`)).size).toBe(catalogue.items);
});

it("draws negatives that the user has not seen", () => {
  const seen = itemsByUser([core], catalogue.users).map((items) => new Set(items));
  const rows = Uint32Array.from({ length: 500 }, (_, i) => i * 7);
  const { user, negatives } = withNegatives(core, catalogue, 4)(rows, new Rng(1));
  expect(negatives!.shape).toEqual([500, 4]);
  expect(Array.from(negatives!.data).some((item, i) => seen[user!.data[i >> 2]!]!.has(item))).toBe(false);
  // Over the whole catalogue, not a corner of it.
  expect(new Set(negatives!.data).size).toBeGreaterThan(catalogue.items / 2);
  const all = { ...core, user: new Int32Array(2), item: Int32Array.of(0, 1), timestamp: new Int32Array(2) };
  expect(() => withNegatives(all, { users: 1, items: 2 }, 1)).toThrow("User 0 has seen all 2 items");
});

it("knows of a user only what came before", () => {
  const [user, item] = [Int32Array.of(0, 1, 0, 0), Int32Array.of(5, 6, 7, 8)];
  const rows = histories({ ...core, user, item, timestamp: Int32Array.of(30, 20, 10, 40) });
  const padded = (...items: number[]) => [...items, ...Array<number>(HISTORY_LENGTH - items.length).fill(NO_ITEM)];
  expect(rows.map((row) => [...row])).toEqual([padded(7), padded(), padded(), padded(7, 5)]);
});

it("uses an item of the batch as a negative only for those who have not seen it", () => {
  const seen = itemsByUser([core], catalogue.users).map((items) => new Set(items));
  const rows = Uint32Array.from({ length: 64 }, (_, i) => i * 11);
  const batch = inBatch(core, catalogue)(rows, new Rng(1));
  const [user, item] = [batch.user!.data, batch.item!.data];
  const expected = Array.from({ length: 64 * 64 }, (_, at) => {
    const [i, j] = [at >> 6, at & 63];
    return i !== j && seen[user[i]!]!.has(item[j]!) ? 1 : 0;
  });
  expect([...batch.seen!.data]).toEqual(expected);
  expect(expected).toContain(1);
});

it("goes through everything once an epoch, in an order that is a function of seed and epoch, and resumes", () => {
  const make = withNegatives(core, catalogue, 2);
  const loader = new InteractionLoader(1000, 100, (rows, rng) => ({ ...make(rows, rng), row: host(rows) }));
  const epoch = (number: number, seed: number): HostBatch[] => {
    loader.begin(number, seed);
    const batches: HostBatch[] = [];
    for (let batch = loader.next(); batch; batch = loader.next()) batches.push(batch);
    return batches;
  };
  const first = epoch(0, 3);
  const rowsOf = (batches: readonly HostBatch[]) => batches.flatMap(({ row }) => [...row!.data]);
  expect(rowsOf(first).sort((a, b) => a - b)).toEqual([...Array(1000).keys()]);
  expect(epoch(0, 3)).toEqual(first);
  expect(rowsOf(epoch(1, 3))).not.toEqual(rowsOf(first));
  expect(rowsOf(epoch(0, 4))).not.toEqual(rowsOf(first));

  loader.begin(5, 3);
  loader.load({ epoch: 0, batches: 4, samples: 400 });
  expect(loader.next()).toEqual(first[4]);
  expect(loader.skip()).toBe(true);
  expect(loader.state()).toEqual({ epoch: 0, batches: 6, samples: 600 });
  expect(loader.next()).toEqual(first[6]);
});

it("scores by popularity, and by what goes together", () => {
  // 0 and 1 are chosen together, 2 by many who chose neither.
  const pairs = [
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
    [2, 0],
    [3, 2],
    [4, 2],
    [5, 2],
    [6, 2],
  ] as const;
  const user = Int32Array.from(pairs, ([u]) => u);
  const item = Int32Array.from(pairs, ([, i]) => i);
  const train: Interactions = { ...core, user, item, timestamp: Int32Array.from(pairs.keys()) };
  const popular = popularity([train], { users: 7, items: 3 });
  expect([...popular.data.subarray(6, 9)]).toEqual([3, 2, 4]);
  const similar = itemKnn([train], { users: 7, items: 3 }, { neighbours: 2, shrinkage: 1 });
  // For user 2, who chose 0: item 1 by cosine 2 / (√(2 · 3) + 1), item 2 not at all.
  expect(similar.data[2 * 3 + 1]).toBeCloseTo(2 / (Math.sqrt(6) + 1));
  expect(similar.data[2 * 3 + 2]).toBe(0);
});

it("names films by a movies.csv, or by their address", () => {
  const dir = mkdtempSync(join(tmpdir(), "recommender-"));
  const file = join(dir, "movies.csv");
  writeFileSync(file, 'movieId,title,genres\n1,Toy Story (1995),Comedy\n11,"American President, The (1995)",Drama\n');
  const nameOf = titles(file);
  rmSync(dir, { recursive: true });
  expect([1, 11, 12].map(nameOf)).toEqual([
    "Toy Story (1995)",
    "American President, The (1995)",
    "https://movielens.org/movies/12",
  ]);
  expect(titles()(1)).toBe("https://movielens.org/movies/1");
});

const host = (data: Uint32Array) => ({ data: Int32Array.from(data), shape: [data.length] });
