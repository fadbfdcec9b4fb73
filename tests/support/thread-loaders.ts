// Loaders that tests run in threads: a module of its own, since that is what a thread imports.
import { threadId } from "node:worker_threads";
import { DataLoader, type HostBatch, type Loader, type Rng } from "../../src/data/index.ts";

const COUNT = 23;
const ids = Float32Array.from({ length: COUNT }, (_, i) => i);
const sample = (i: number, rng: Rng) => ({ i, noise: rng.next() });

export const arrays = new DataLoader({ i: ids }, { batchSize: 4, shuffle: true });

export const dataset = new DataLoader(
  { length: COUNT, get: (i: number, { rng }: { rng: Rng }) => sample(i, rng) },
  { batchSize: 3, shuffle: true, dropLast: true },
);

/** Made when it is asked for, with data that is not there at once. */
export const late = async (): Promise<Loader> =>
  new DataLoader(
    {
      length: COUNT,
      get: async (i: number, { rng }: { rng: Rng }) => {
        await new Promise((resolve) => setTimeout(resolve, i % 3));
        return sample(i, rng);
      },
    },
    { batchSize: 5, prefetch: 2, shuffle: true },
  );

export const stream = new DataLoader(
  async function* ({ rng }: { rng: Rng }) {
    for (let i = 0; i < COUNT; i++) yield sample(i, rng);
  },
  { batchSize: 4 },
);

/** Something to learn, with noise. */
export const pairs = (): Loader =>
  new DataLoader(
    {
      length: 33,
      get(i: number, { rng }: { rng: Rng }) {
        const x = [Math.sin(i), rng.next()];
        return { x, y: [2 * x[0]! - x[1]! + rng.next() / 10] };
      },
    },
    { batchSize: 4, shuffle: true },
  );

/** Fails at sample 6, once in each thread. */
let failed = false;
export const failing = new DataLoader(
  {
    length: 12,
    get(i: number) {
      if (i !== 6 || failed) return { i };
      failed = true;
      throw new Error("disk on fire");
    },
  },
  { batchSize: 2 },
);

/** Says in which thread its batches are made, and how many it has made. */
export const counted = (length = 40): Loader => {
  let made = 0;
  return new DataLoader({ length, get: () => ({ made: ++made, thread: threadId }) }, { batchSize: 1 });
};

/** A loader of one's own, whose batches are views of one memory and share it. */
export const views: Loader = {
  length: 3,
  begin: () => undefined,
  next: () => ({ i: ids.subarray(4, 8) as unknown as HostBatch[string] }),
  skip: () => true,
  state: () => ({ epoch: 0, batches: 0, samples: 0 }),
  load: () => undefined,
};

const reused = new Float32Array(2);
/** It gives the same array away again and again. */
export const greedy: Loader = { ...views, next: () => ({ i: reused as unknown as HostBatch[string] }) };

/** The thread is gone with its first batch. */
export const leaving: Loader = { ...views, next: () => process.exit(3) };

export const notALoader = 42;
