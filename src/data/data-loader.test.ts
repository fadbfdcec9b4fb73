import { describe, expect, expectTypeOf, test } from "vitest";
import type { HostBatch } from "../core/model.ts";
import { DataLoader } from "./data-loader.ts";

const range = (n: number): Int32Array => Int32Array.from({ length: n }, (_, i) => i);
const values = (batch: HostBatch | undefined): number[] => Array.from(batch!.i!.data);

async function epochOf(loader: DataLoader<never> | DataLoader, epoch = 0, seed = 0): Promise<number[][]> {
  loader.begin(epoch, seed);
  const batches: number[][] = [];
  for (let batch = await loader.next(); batch !== undefined; batch = await loader.next()) batches.push(values(batch));
  return batches;
}

describe("arrays", () => {
  test("come in order, the last batch short, and synchronously", () => {
    const loader = new DataLoader({ i: range(5) }, { batchSize: 2 });
    expect(loader.length).toBe(3);
    loader.begin(0, 0);
    expect([loader.next(), loader.next(), loader.next(), loader.next()]).toEqual([
      { i: { data: Int32Array.of(0, 1), shape: [2] } },
      { i: { data: Int32Array.of(2, 3), shape: [2] } },
      { i: { data: Int32Array.of(4), shape: [1] } },
      undefined,
    ]);
    expect(loader.state()).toEqual({ epoch: 0, batches: 3, samples: 5 });
  });

  test("a batch that is given back lends its memory to the next one of its size, unless the class is the user's own", () => {
    class Own extends DataLoader {}
    for (const [Kind, isReused] of [
      [DataLoader, true],
      [Own, false],
    ] as const) {
      const loader = new Kind({ i: range(5) }, { batchSize: 2 });
      loader.begin(0, 0);
      const take = (): HostBatch => loader.next() as HostBatch;
      const [first, second] = [take(), (loader.reuse(take()), undefined)];
      expect(second).toBeUndefined();
      const short = take();
      expect([values(first), values(short)]).toEqual([[0, 1], [4]]);
      loader.begin(1, 0);
      loader.reuse(first);
      const next = take();
      expect(values(next)).toEqual([0, 1]);
      expect(next.i!.data === first.i!.data).toBe(isReused);
      expect(take().i!.data).not.toBe(next.i!.data);
    }
  });

  test("dropLast leaves out the short one", async () => {
    const loader = new DataLoader({ i: range(5) }, { batchSize: 2, dropLast: true });
    expect(loader.length).toBe(2);
    expect(await epochOf(loader)).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  test("shuffling depends on seed and epoch; the loader's own seed comes first", async () => {
    const loader = new DataLoader({ i: range(50) }, { batchSize: 50, shuffle: true });
    const own = new DataLoader({ i: range(50) }, { batchSize: 50, shuffle: true, seed: 7 });
    const order = await epochOf(loader, 0, 7);
    expect(order.flat()).not.toEqual([...range(50)]);
    expect(await epochOf(loader, 1, 7)).not.toEqual(order);
    expect(await epochOf(loader, 0, 7)).toEqual(order);
    expect(await epochOf(own, 0, 99)).toEqual(order);
  });

  test("a batch is the hook's to keep", () => {
    const data = range(4);
    const loader = new DataLoader({ i: data }, { batchSize: 2 });
    loader.begin(0, 0);
    const first = loader.next() as HostBatch;
    first.i!.data.fill(-1);
    void loader.next();
    expect(values(first)).toEqual([-1, -1]);
    expect(data).toEqual(range(4));
  });

  test("skip makes nothing, and counts", () => {
    const loader = new DataLoader({ i: range(5) }, { batchSize: 2 });
    loader.begin(0, 0);
    expect(loader.skip()).toBe(true);
    expect(values(loader.next() as HostBatch)).toEqual([2, 3]);
    expect(loader.skip()).toBe(true);
    expect(loader.skip()).toBe(false);
    expect(loader.state()).toEqual({ epoch: 0, batches: 3, samples: 5 });
  });
});

describe("data sets", () => {
  test("an array of samples is one, and is shuffled", async () => {
    const samples = Array.from({ length: 6 }, (_, i) => ({ i }));
    const loader = new DataLoader(samples, { batchSize: 4, shuffle: true, dtypes: { i: "int32" } });
    const [first, second] = await epochOf(loader);
    expect(first).toHaveLength(4);
    expect(new Set([...first!, ...second!])).toEqual(new Set([0, 1, 2, 3, 4, 5]));
  });

  test("the random numbers of a sample depend on seed, epoch and index, not on the order of reading", async () => {
    const noisy = { length: 8, get: (i: number, { rng }: { rng: { next(): number } }) => ({ i: rng.next() + i }) };
    const plain = (await epochOf(new DataLoader(noisy, { batchSize: 3 }), 2, 5)).flat();
    const shuffled = (await epochOf(new DataLoader(noisy, { batchSize: 2, shuffle: true }), 2, 5)).flat();
    expect(new Set(shuffled)).toEqual(new Set(plain));
    expect((await epochOf(new DataLoader(noisy, { batchSize: 3 }), 3, 5)).flat()).not.toEqual(plain);
  });

  test("collate gets the samples, typed, and its result is checked", async () => {
    const collate = (samples: readonly { text: string }[]) => {
      expectTypeOf(samples[0]!.text).toBeString();
      return { i: Int32Array.from(samples, (sample) => sample.text.length) };
    };
    const loader = new DataLoader([{ text: "a" }, { text: "bcd" }], { batchSize: 2, collate });
    loader.begin(0, 0);
    expect(values(loader.next() as HostBatch)).toEqual([1, 3]);
    const bad = new DataLoader([{ text: "a" }], { batchSize: 1, collate: () => ({}) });
    bad.begin(0, 0);
    expect(() => bad.next()).toThrow("`collate` failed on the batch from sample 0: collate: has no fields");
  });

  test("prefetch keeps that many batches in flight", async () => {
    const asked: number[] = [];
    const get = async (i: number) => {
      asked.push(i);
      return { i };
    };
    const loader = new DataLoader({ length: 10, get }, { batchSize: 1, prefetch: 2 });
    loader.begin(0, 0);
    const first = loader.next();
    expect(first).toBeInstanceOf(Promise);
    expect(asked).toEqual([0, 1, 2]);
    await first;
    expect(loader.state().batches).toBe(1);
    await loader.next();
    expect(asked).toEqual([0, 1, 2, 3]);
    expect(await loader.skip()).toBe(true);
    expect(values(await loader.next())).toEqual([3]);
    expect(asked.filter((i) => i === 2)).toHaveLength(1);
  });
});

describe("errors", () => {
  const failsAt = (bad: number, wait: boolean) => ({
    length: 6,
    get: (i: number): { i: number } | Promise<{ i: number }> => {
      if (i === bad && !wait) throw new Error("disk on fire");
      return wait
        ? Promise.resolve().then(() => (i === bad ? Promise.reject(new Error("disk on fire")) : { i }))
        : { i };
    },
  });

  test.each([
    { wait: false, prefetch: 0 },
    { wait: true, prefetch: 0 },
    { wait: true, prefetch: 3 },
  ])("a sample that fails is named when its batch is due, and the position stays: %o", async ({ wait, prefetch }) => {
    const loader = new DataLoader(failsAt(3, wait), { batchSize: 2, prefetch });
    loader.begin(0, 0);
    expect(values(await loader.next())).toEqual([0, 1]);
    for (const attempt of [1, 2]) {
      const error = await Promise.resolve()
        .then(() => loader.next())
        .catch((e: unknown) => e);
      expect(error, `attempt ${attempt}`).toMatchObject({
        name: "DataError",
        message: "DataLoader: sample 3 could not be read: disk on fire",
        cause: { message: "disk on fire" },
      });
    }
    expect(loader.state().batches).toBe(1);
    expect(await loader.skip()).toBe(true);
    expect(values(await loader.next())).toEqual([4, 5]);
  });

  test("prefetched failures that nobody collects stay quiet", async () => {
    const loader = new DataLoader(failsAt(3, true), { batchSize: 1, prefetch: 5 });
    loader.begin(0, 0);
    await loader.next();
    await loader.close();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(() => loader.next()).toThrow("Call `begin(epoch, seed)` first");
  });

  test("no data is an error at construction", () => {
    expect(() => new DataLoader({ i: range(0) }, { batchSize: 2 })).toThrow("the data has no samples");
    expect(() => new DataLoader([], { batchSize: 2 })).toThrow("the data has no samples");
    expect(() => new DataLoader({ i: range(3) }, { batchSize: 4, dropLast: true })).toThrow(
      "`dropLast` leaves no batch, because 3 samples do not fill one of 4",
    );
  });

  test("wrong data and wrong options say what is expected", () => {
    expect(() => new DataLoader({ i: range(3) })).toThrow("missing option `batchSize`");
    expect(() => new DataLoader({ i: range(3) }, { batchsize: 2 } as object)).toThrow("Did you mean `batchSize`?");
    expect(() => new DataLoader({ i: range(3) }, { batchSize: 1.5 })).toThrow(
      "Expected `batchSize` to be a whole number ≥ 1",
    );
    expect(() => new DataLoader(range(3) as never, { batchSize: 2 })).toThrow(
      "expected arrays by name such as { x, y }",
    );
    expect(() => new DataLoader({ i: range(3) }, { batchSize: 2, collate: () => ({}) })).toThrow(
      "`collate` is for samples",
    );
    expect(() => new DataLoader(() => [], { batchSize: 2, shuffle: true })).toThrow("shuffle where it is made");
    expect(() => new DataLoader([{ i: 1 }], { batchSize: 2, dtypes: { i: "int64" as never } })).toThrow(
      'one of "float32", "int32"',
    );
    expect(() => new DataLoader({ length: Number.NaN, get: () => ({}) }, { batchSize: 2 })).toThrow(
      "`length` to be a whole number",
    );
  });

  test("a position that does not fit is refused", () => {
    const loader = new DataLoader({ i: range(10) }, { batchSize: 4 });
    loader.begin(0, 0);
    expect(() => loader.load({ epoch: 0, batches: 1, samples: 2 })).toThrow(
      "with the data and the batchSize of the save",
    );
    expect(() => loader.load({ epoch: 0, batches: 4, samples: 16 })).toThrow("does not fit 10 samples in batches of 4");
    expect(() => loader.load({ epoch: 0 } as never)).toThrow("not a saved position: `batches` is undefined");
  });
});
