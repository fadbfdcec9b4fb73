import { describe, expect, it } from "vitest";
import { DataLoader } from "./data-loader.ts";
import { LoaderSet } from "./loader-set.ts";
import type { Loader, Share } from "../core/model.ts";
import { cutShare, rowsOfPart } from "./share.ts";

const COUNT = 11;
const data = () => ({
  x: { data: Float32Array.from({ length: COUNT * 2 }, (_, i) => i), shape: [COUNT, 2] },
  y: Int32Array.from({ length: COUNT }, (_, i) => i),
});
const parts = (size: number) => Array.from({ length: size }, (_, rank) => ({ rank, size }));

describe("rowsOfPart", () => {
  it.each([1, 2, 3, 4, 7])("%i parts are the whole, in order, and differ by one row at most", (size) => {
    const rows = parts(size).map((part) => rowsOfPart(100, 107, part));
    expect(rows[0]!.from).toBe(100);
    expect(rows.at(-1)!.to).toBe(107);
    rows.slice(1).forEach(({ from }, i) => expect(from).toBe(rows[i]!.to));
    const counts = rows.map(({ from, to }) => to - from);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  it("one without rows has the last, and says so", () => {
    const rows = parts(4).map((part) => rowsOfPart(0, 2, part));
    expect(rows.map(({ empty }) => empty)).toEqual([true, false, true, false]);
    expect(rows[0]).toMatchObject({ from: 1, to: 2 });
  });
});

describe("cutShare", () => {
  it("cuts what has the batch's rows, and leaves the rest to all", () => {
    const batch = {
      x: { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] },
      table: { data: Float32Array.of(7, 8, 9, 10), shape: [4] },
    };
    const { batch: cut, samples, empty } = cutShare(batch, { rank: 1, size: 2 });
    expect(cut).toEqual({ x: { data: Float32Array.of(3, 4, 5, 6), shape: [2, 2] }, table: batch.table });
    expect({ samples, empty }).toEqual({ samples: 3, empty: false });
  });
});

async function readAll(next: () => Promise<Share | undefined> | Share | undefined): Promise<Share[]> {
  const shares: Share[] = [];
  for (let share = await next(); share; share = await next()) shares.push(share);
  return shares;
}

describe("DataLoader.nextShare", () => {
  const options = { batchSize: 4, shuffle: true };
  const samples = () => Array.from({ length: COUNT }, (_, i) => ({ x: Float32Array.of(2 * i, 2 * i + 1), y: i }));
  const slow = () => ({ length: COUNT, get: async (i: number) => samples()[i]! });
  const sources: readonly [string, () => DataLoader][] = [
    ["arrays", () => new DataLoader(data(), options)],
    ["samples", () => new DataLoader(samples(), { ...options, dtypes: { y: "int32" } })],
    ["slow samples, read ahead", () => new DataLoader(slow(), { ...options, dtypes: { y: "int32" }, prefetch: 2 })],
    ["a stream", () => new DataLoader(samples, { batchSize: 4, dtypes: { y: "int32" } })],
  ];

  it.each(sources)("of %s is what a part of the whole batch is, and so is the position", async (_, make) => {
    const whole = make();
    whole.begin(3, 5);
    const batches = [];
    for (let batch = await whole.next(); batch; batch = await whole.next()) batches.push(batch);
    for (const part of parts(3)) {
      const loader = make();
      loader.begin(3, 5);
      const shares = await readAll(() => loader.nextShare(part.rank, part.size));
      expect(shares).toEqual(batches.map((batch) => cutShare(batch, part)));
      expect(loader.state()).toEqual(whole.state());
    }
  });

  it("asks for its own rows alone", () => {
    const asked: number[] = [];
    const dataset = { length: 8, get: (i: number) => (asked.push(i), { x: i }) };
    const loader = new DataLoader(dataset, { batchSize: 4 });
    loader.begin(0, 0);
    void loader.nextShare(1, 2);
    void loader.nextShare(1, 2);
    expect(asked).toEqual([2, 3, 6, 7]);
  });

  it("what was read ahead as a whole is read again as a part", async () => {
    const [whole, loader] = [sources[2]![1](), sources[2]![1]()];
    for (const each of [whole, loader]) {
      each.begin(0, 1);
      await each.next();
    }
    const second = cutShare((await whole.next())!, { rank: 1, size: 2 });
    expect(await loader.nextShare(1, 2)).toEqual(second);
  });
});

it("a set of loaders cuts for those that cannot, and counts the same", async () => {
  const plain = (): Loader => {
    const inner = new DataLoader(data(), { batchSize: 4 });
    return {
      length: inner.length,
      begin: (epoch, seed) => inner.begin(epoch, seed),
      next: () => inner.next(),
      skip: () => inner.skip(),
      state: () => inner.state(),
      load: (at) => inner.load(at),
    };
  };
  const [cuts, makes] = [new LoaderSet({ a: plain() }), new LoaderSet({ a: new DataLoader(data(), { batchSize: 4 }) })];
  const part = { rank: 1, size: 2 };
  for (const set of [cuts, makes]) set.begin(0, 0);
  expect(await readAll(() => cuts.nextShare(part))).toEqual(await readAll(() => makes.nextShare(part)));
  expect(cuts.state()).toEqual(makes.state());
});
