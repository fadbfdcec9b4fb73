// Resuming at any point gives the batches that the uninterrupted run would have had, for every kind of data.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Loader } from "../core/model.ts";
import { DataLoader, type DataLoaderOptions } from "./data-loader.ts";
import type { Rng } from "./random.ts";

type Make = (count: number, options: DataLoaderOptions & { batchSize: number }) => Loader;

const sample = (i: number, rng: Rng) => ({ i, noise: rng.next() });
const later = <T>(value: T, i: number): Promise<T> =>
  i % 3 === 0 ? new Promise((resolve) => setTimeout(() => resolve(value), 0)) : Promise.resolve(value);

const kinds: Record<string, Make> = {
  arrays: (count, options) => new DataLoader({ i: Float32Array.from({ length: count }, (_, i) => i) }, options),
  "data set": (count, options) =>
    new DataLoader({ length: count, get: (i: number, { rng }: { rng: Rng }) => sample(i, rng) }, options),
  "asynchronous data set": (count, options) =>
    new DataLoader({ length: count, get: (i: number, { rng }: { rng: Rng }) => later(sample(i, rng), i) }, options),
  stream: (count, { batchSize, prefetch }) =>
    new DataLoader(({ rng }) => Array.from({ length: count }, (_, i) => sample(i, rng)), { batchSize, prefetch }),
  "asynchronous stream": (count, { batchSize, prefetch }) =>
    new DataLoader(
      async function* ({ rng }: { rng: Rng }) {
        for (let i = 0; i < count; i++) yield await later(sample(i, rng), i);
      },
      { batchSize, prefetch },
    ),
  "stream of batches": (count, { batchSize, prefetch }) =>
    new DataLoader(
      async function* () {
        for (let i = 0; i < count; i++) yield await later({ i: new Float32Array(1 + (i % batchSize)).fill(i) }, i);
      },
      { prefetch },
    ),
};

async function drain(loader: Loader, most = Infinity): Promise<unknown[]> {
  const batches: unknown[] = [];
  while (batches.length < most) {
    const batch = await loader.next();
    if (batch === undefined) break;
    batches.push(batch);
  }
  return batches;
}

const scenario = fc.record({
  count: fc.integer({ min: 1, max: 25 }),
  batchSize: fc.integer({ min: 1, max: 6 }),
  prefetch: fc.integer({ min: 0, max: 4 }),
  shuffle: fc.boolean(),
  epoch: fc.nat(3),
  seed: fc.nat(1000),
  cut: fc.nat(25),
  skips: fc.nat(2),
});

describe.each(Object.entries(kinds))("%s", (_, make) => {
  test("every sample comes exactly once, in an order that repeats", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async ({ count, batchSize, prefetch, shuffle, epoch, seed }) => {
        const loader = make(count, { batchSize, prefetch, shuffle });
        loader.begin(epoch, seed);
        const batches = await drain(loader);
        const seen = new Set(batches.flatMap((batch) => Array.from((batch as { i: { data: Float32Array } }).i.data)));
        expect(seen.size).toBe(count);
        expect(batches).toHaveLength(loader.length ?? batches.length);
        loader.begin(epoch, seed);
        expect(await drain(loader)).toEqual(batches);
      }),
      { numRuns: 25 },
    );
  });

  test("a fresh loader goes on from a saved position", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async ({ count, batchSize, prefetch, shuffle, epoch, seed, cut, skips }) => {
        const first = make(count, { batchSize, prefetch, shuffle });
        first.begin(epoch, seed);
        const before = await drain(first, cut);
        let skipped = 0;
        while (skipped < skips && (await first.skip())) skipped++;
        const state = JSON.parse(JSON.stringify(first.state()));
        expect(state).toMatchObject({ epoch, batches: before.length + skipped });

        const second = make(count, { batchSize, prefetch, shuffle });
        second.begin(epoch, seed);
        await second.load(state);
        expect(second.state()).toEqual(state);
        const whole = make(count, { batchSize, prefetch: 0, shuffle });
        whole.begin(epoch, seed);
        const all = await drain(whole);
        const rest = all.slice(state.batches);
        expect(await drain(second)).toEqual(rest);
        expect(await drain(first)).toEqual(rest);
        await first.close?.();
      }),
      { numRuns: 40 },
    );
  });

  test("going back on the same loader, in another epoch too", async () => {
    const loader = make(10, { batchSize: 3, prefetch: 2, shuffle: true });
    loader.begin(1, 5);
    await drain(loader, 1);
    const state = loader.state();
    const rest = await drain(loader);
    loader.begin(2, 5);
    await drain(loader, 2);
    await loader.load(state);
    expect(await drain(loader)).toEqual(rest);
  });
});
