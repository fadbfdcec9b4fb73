import { expect, test } from "vitest";
import { DataLoader } from "./data-loader.ts";

function* numbers(n: number): Generator<{ i: number }> {
  for (let i = 0; i < n; i++) yield { i };
}
async function* later(n: number, log: string[] = []): AsyncGenerator<{ i: number }> {
  try {
    for (const each of numbers(n)) yield await Promise.resolve(each);
  } finally {
    log.push("closed");
  }
}

async function epochOf(loader: DataLoader, epoch = 0): Promise<number[][]> {
  loader.begin(epoch, 0);
  const batches: number[][] = [];
  for (let batch = await loader.next(); batch !== undefined; batch = await loader.next())
    batches.push(Array.from(batch.i!.data));
  return batches;
}

test("samples are gathered into batches; a synchronous stream stays synchronous", async () => {
  const loader = new DataLoader(() => numbers(5), { batchSize: 2 });
  expect(loader.length).toBeUndefined();
  expect(await epochOf(loader)).toEqual([[0, 1], [2, 3], [4]]);
  expect(await epochOf(loader)).toEqual([[0, 1], [2, 3], [4]]);
  loader.begin(0, 0);
  expect(loader.next()).toEqual({ i: { data: Float32Array.of(0, 1), shape: [2] } });
  const dropping = new DataLoader(() => later(5), { batchSize: 2, dropLast: true, prefetch: 3 });
  expect(await epochOf(dropping)).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test("without a batchSize the items are batches", async () => {
  const loader = new DataLoader(() => [{ i: Int32Array.of(1, 2, 3) }, { i: Int32Array.of(4) }]);
  expect(await epochOf(loader)).toEqual([[1, 2, 3], [4]]);
  expect(loader.state()).toEqual({ epoch: 0, batches: 2, samples: 4 });
  loader.begin(1, 0);
  await loader.skip();
  expect(loader.state()).toEqual({ epoch: 1, batches: 1, samples: 3 });
  const bad = new DataLoader(() => [{ i: 3 } as never]);
  bad.begin(0, 0);
  expect(() => bad.next()).toThrow("batch 0 of the stream: `i`: expected a typed array");
});

test("the factory learns the epoch and has random numbers of its own", async () => {
  const loader = new DataLoader(({ epoch, rng }) => [{ i: epoch }, { i: rng.next() }], { batchSize: 2 });
  const [first] = await epochOf(loader, 3);
  expect(first![0]).toBe(3);
  expect(await epochOf(loader, 3)).toEqual([first]);
  expect((await epochOf(loader, 4))[0]![1]).not.toBe(first![1]);
});

test("a one-shot iterator serves one epoch; a re-iterable serves many", async () => {
  const once = new DataLoader(numbers(2), { batchSize: 2 });
  once.begin(0, 0);
  once.begin(0, 0);
  expect(await epochOf(once)).toEqual([[0, 1]]);
  expect(() => once.begin(1, 0)).toThrow("can be read only once, and a second pass was started. Give a function");
  const set = new DataLoader(new Set([{ i: 1 }]), { batchSize: 1 });
  expect(await epochOf(set)).toEqual([[1]]);
  expect(await epochOf(set)).toEqual([[1]]);
});

test("an empty stream is an error at its first batch, not an empty epoch", async () => {
  for (const stream of [() => numbers(0), () => later(0)]) {
    await expect(epochOf(new DataLoader(stream, { batchSize: 2 }))).rejects.toThrow("ended before its first batch");
  }
  await expect(epochOf(new DataLoader(() => numbers(3), { batchSize: 4, dropLast: true }))).rejects.toThrow(
    "first batch",
  );
});

test.each([0, 4])("a failing stream says after how many items, once and for all (prefetch %i)", async (prefetch) => {
  async function* failing() {
    yield* later(3);
    throw new Error("connection lost");
  }
  const loader = new DataLoader(failing, { batchSize: 2, prefetch });
  loader.begin(0, 0);
  await loader.next();
  for (let i = 0; i < 2; i++) {
    await expect(loader.next()).rejects.toMatchObject({
      name: "DataError",
      message: "DataLoader: the stream failed after 3 items: connection lost",
      cause: { message: "connection lost" },
    });
  }
  expect(loader.state()).toEqual({ epoch: 0, batches: 1, samples: 2 });
});

test("a batch that cannot be made does not let the stream go on without it", async () => {
  const loader = new DataLoader(() => [{ i: 1 }, { i: "x" as never }, { i: 3 }], { batchSize: 1 });
  loader.begin(0, 0);
  await loader.next();
  expect(() => loader.next()).toThrow("sample 1 of the stream: field `i` is of type string");
  expect(() => loader.next()).toThrow("sample 1 of the stream");
});

test("open iterators are closed by close() and by the next begin()", async () => {
  const log: string[] = [];
  const loader = new DataLoader(() => later(10, log), { batchSize: 1, prefetch: 2 });
  loader.begin(0, 0);
  await loader.next();
  await loader.close();
  expect(log).toEqual(["closed"]);
  loader.begin(1, 0);
  await loader.next();
  loader.begin(2, 0);
  await loader.next();
  expect(log).toEqual(["closed", "closed"]);
  await loader.close();
  await loader.close();
});

test("a saved position beyond the end is an error", async () => {
  const loader = new DataLoader(() => later(3), { batchSize: 1 });
  loader.begin(0, 0);
  await expect(loader.load({ epoch: 0, batches: 5, samples: 5 })).rejects.toThrow(
    "ended after 3 items, before the saved position 5",
  );
});
