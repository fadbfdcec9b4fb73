import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { compiled } from "../../tests/support/programs.ts";
import { arrays, dataset, late, stream } from "../../tests/support/thread-loaders.ts";
import { DataError, OptionError } from "../core/errors.ts";
import type { HostBatch, Loader } from "../core/model.ts";
import { workerLoader, type WorkerLoaderOptions } from "./worker-loader.ts";

const file = compiled(new URL("../../tests/support/thread-loaders.ts", import.meta.url));
const module = (name: string): URL => new URL(`#${name}`, pathToFileURL(file));

const open: Loader[] = [];
afterEach(() => {
  for (const loader of open.splice(0)) void loader.close?.();
});

async function inThreads(name: string, options?: WorkerLoaderOptions): Promise<Loader> {
  const loader = await workerLoader(module(name), options);
  open.push(loader);
  return loader;
}

async function drain(loader: Loader, most = Infinity): Promise<HostBatch[]> {
  const batches: HostBatch[] = [];
  while (batches.length < most) {
    const batch = await loader.next();
    if (batch === undefined) break;
    batches.push(batch);
  }
  return batches;
}

const number = (batch: HostBatch | undefined, field: string): number => batch![field]!.data[0]!;

describe.each([1, 2, 3])("with %d threads", (workers) => {
  test.each(Object.entries({ arrays, dataset, late, stream }))(
    "%s: the batches and positions of the loader itself",
    async (name, made) => {
      const plain = typeof made === "function" ? await made() : made;
      const loader = await inThreads(name, { workers });
      expect(loader.length).toBe(plain.length);
      for (const epoch of [0, 1]) {
        plain.begin(epoch, 7);
        loader.begin(epoch, 7);
        for (let more = true; more;) {
          const expected = await plain.next();
          expect(await loader.next()).toEqual(expected);
          expect(loader.state()).toEqual(plain.state());
          more = expected !== undefined;
        }
      }
    },
  );

  test("goes on from a saved position, and over skipped batches", async () => {
    const loader = await inThreads("dataset", { workers, prefetch: 4 });
    loader.begin(2, 5);
    const all = await drain(loader);
    loader.begin(2, 5);
    await drain(loader, 2);
    expect(await loader.skip()).toBe(true);
    const state = JSON.parse(JSON.stringify(loader.state()));
    expect(state).toEqual({ epoch: 2, batches: 3, samples: 9 });
    const other = await inThreads("dataset", { workers });
    other.begin(0, 5);
    await other.load(state);
    expect(other.state()).toEqual(state);
    expect(await drain(other)).toEqual(all.slice(3));
    expect(await drain(loader)).toEqual(all.slice(3));
    expect(await loader.skip()).toBe(false);
  });
});

/** A batch that is there already comes, or fails, at once: here always as a promise. */
const nextOf = async (loader: Loader) => loader.next();

test("no more is made ahead than `prefetch` says, and what has come is there at once", async () => {
  const loader = await inThreads("counted", { prefetch: 3 });
  loader.begin(0, 0);
  expect(number(await loader.next(), "made")).toBe(1);
  // The thread has all the time that it could want, and this one turns no event loop.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  const [second, third, fourth] = [loader.next(), loader.next(), loader.next()];
  expect([second, third, fourth].map((batch) => number(batch as HostBatch, "made"))).toEqual([2, 3, 4]);
  // The same loader again, in the same thread: it tells what it has made so far.
  loader.begin(1, 0);
  expect(number(await loader.next(), "made")).toBe(8);
});

test("threads take turns", async () => {
  const loader = await inThreads("counted", { workers: 2 });
  loader.begin(0, 0);
  const threads = (await drain(loader, 6)).map((batch) => number(batch, "thread"));
  expect(new Set(threads).size).toBe(2);
  expect(threads.slice(2)).toEqual(threads.slice(0, 4));
});

test("a failed batch is named, and can be asked for again", async () => {
  const loader = await inThreads("failing", { workers: 2 });
  loader.begin(0, 0);
  expect(await drain(loader, 3)).toHaveLength(3);
  const before = loader.state();
  const failing = nextOf(loader);
  await expect(failing).rejects.toBeInstanceOf(DataError);
  await expect(failing).rejects.toThrow(
    `Loader ${relative(process.cwd(), file)}#failing: DataLoader: sample 6 could not be read: disk on fire`,
  );
  expect(loader.state()).toEqual(before);
  expect((await drain(loader)).map((batch) => number(batch, "i"))).toEqual([6, 8, 10]);
});

test("a position that does not fit the data is an error of `load`", async () => {
  const loader = await inThreads("arrays");
  loader.begin(0, 0);
  // An answer that is there already is thrown at once.
  const loading = async (): Promise<void> => loader.load({ epoch: 0, batches: 3, samples: 1000 });
  await expect(loading()).rejects.toThrow("thread-loaders.js#arrays: DataLoader: a position after 3 batches");
});

test("views are copied, and an array that was given away cannot be given again", async () => {
  const loader = await inThreads("views");
  loader.begin(0, 0);
  const four = { i: { data: Float32Array.of(4, 5, 6, 7), shape: [4] } };
  expect(await drain(loader)).toEqual([four, four, four]);
  const greedy = await inThreads("greedy");
  greedy.begin(0, 0);
  await greedy.next();
  await expect(nextOf(greedy)).rejects.toThrow("make new arrays for each batch");
});

test("a thread that ends is an error, and the next call starts another", async () => {
  const loader = await inThreads("leaving");
  loader.begin(0, 0);
  await expect(nextOf(loader)).rejects.toThrow("thread-loaders.js#leaving: its thread has failed: it stopped");
  await expect(nextOf(loader)).rejects.toThrow("thread-loaders.js#leaving: its thread has failed: it stopped");
});

test("closed, it keeps its thread for a while, and starts another when it begins again", async () => {
  const loader = await inThreads("counted");
  const threadOf = async (): Promise<number> => {
    loader.begin(0, 0);
    const thread = number(await loader.next(), "thread");
    await loader.close?.();
    return thread;
  };
  const first = await threadOf();
  expect(await threadOf()).toBe(first);
  await new Promise((resolve) => setTimeout(resolve, 5500));
  expect(await threadOf()).not.toBe(first);
});

test.each([
  ["notALoader", "thread-loaders.js#notALoader: it is `42` (number). Export a loader"],
  ["arrys", "there is no export `arrys`. Did you mean `arrays`?"],
])("%s is no loader", async (name, message) => {
  await expect(workerLoader(module(name))).rejects.toThrow(message);
});

test("a module that is not there, and what is no module", async () => {
  await expect(workerLoader(new URL("./none.ts#train", import.meta.url))).rejects.toThrow(
    "Loader src/data/none.ts#train: there is no such file",
  );
  await expect(workerLoader("./data.ts#train" as unknown as URL)).rejects.toBeInstanceOf(OptionError);
  await expect(workerLoader(new URL("https://example.com/#train"))).rejects.toThrow("got https://example.com/#train");
  await expect(workerLoader(module("arrays"), { workers: 0 })).rejects.toThrow("Expected `workers`");
});
