// Sampling and bucketing: what an epoch has, that it repeats, resumes in mid-epoch and is the same on all ranks.
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { HostBatch } from "../../core/model.ts";
import { DataLoader, type DataLoaderOptions } from "../data-loader.ts";

/** Rows of classes 0, 1 and 2, of which there are 60, 30 and 10, in this order. */
const y = Int32Array.from({ length: 100 }, (_, i) => (i < 60 ? 0 : i < 90 ? 1 : 2));
const i = Int32Array.from(y.keys());
const data = { i, y };

function epochOf(loader: DataLoader, epoch = 0, seed = 1): HostBatch[] {
  loader.begin(epoch, seed);
  const batches: HostBatch[] = [];
  for (let batch = loader.next(); batch !== undefined; batch = loader.next()) batches.push(batch as HostBatch);
  return batches;
}

const rows = (batches: readonly HostBatch[]): number[] => batches.flatMap((batch) => [...batch.i!.data]);
const classCounts = (labels: Iterable<number>): number[] => {
  const counts = [0, 0, 0];
  for (const label of labels) counts[label]! += 1;
  return counts;
};

describe("weights", () => {
  it("draws with replacement, as often as the weights say", () => {
    const weights = Float64Array.from(i, (row) => (row === 7 ? 3 : row === 8 ? 1 : 0));
    const drawn = Array.from({ length: 40 }, (_, epoch) =>
      rows(epochOf(new DataLoader(data, { batchSize: 32, sampling: { weights } }), epoch)),
    ).flat();
    expect(drawn).toHaveLength(4000);
    expect(new Set(drawn)).toEqual(new Set([7, 8]));
    // Four standard deviations around 3 of 4.
    expect(drawn.filter((row) => row === 7).length / 4000).toBeCloseTo(0.75, 1);
    expect(Math.abs(drawn.filter((row) => row === 7).length - 3000)).toBeLessThan(4 * Math.sqrt(4000 * 0.75 * 0.25));
  });

  it("balances classes by a field", () => {
    const labels = Array.from({ length: 30 }, (_, epoch) =>
      epochOf(new DataLoader(data, { batchSize: 50, sampling: { balanced: "y" } }), epoch),
    ).flatMap((batches) => batches.flatMap((batch) => [...batch.y!.data]));
    for (const count of classCounts(labels)) expect(Math.abs(count - 1000)).toBeLessThan(4 * Math.sqrt(3000 * (2 / 9)));
  });

  it("draws another order in each epoch and for each seed, and the same again", () => {
    const loader = new DataLoader(data, { batchSize: 32, sampling: { balanced: "y" } });
    const [first, again, next, other] = [epochOf(loader), epochOf(loader), epochOf(loader, 1), epochOf(loader, 0, 2)];
    expect(again).toEqual(first);
    expect(rows(next)).not.toEqual(rows(first));
    expect(rows(other)).not.toEqual(rows(first));
  });
});

test("stratified: every sample once, and each batch has every class in its share, to within one", () => {
  const loader = new DataLoader(data, { batchSize: 20, sampling: { stratified: "y" } });
  for (let epoch = 0; epoch < 20; epoch++) {
    const batches = epochOf(loader, epoch);
    expect(rows(batches).sort((a, b) => a - b)).toEqual([...i]);
    for (const batch of batches) {
      const [zero, one, two] = classCounts(batch.y!.data as Int32Array);
      expect(Math.abs(zero! - 12)).toBeLessThanOrEqual(1);
      expect(Math.abs(one! - 6)).toBeLessThanOrEqual(1);
      expect(Math.abs(two! - 2)).toBeLessThanOrEqual(1);
    }
  }
});

/** Token lists of lengths 1 to 12, each beginning with its own number. */
const sentences = Array.from({ length: 50 }, (_, row) => ({
  i: row,
  tokens: Int32Array.from({ length: 1 + ((row * 7) % 12) }, () => row + 1),
  y: Array.from({ length: 1 + ((row * 7) % 12) }, () => 1),
}));
const buckets = { by: "tokens", lengths: [4, 8, 12], pad: { tokens: 0, y: -100 } };

describe("buckets", () => {
  it("pads each batch to the shortest length that its samples have room in", () => {
    const batches = epochOf(
      new DataLoader(sentences, { batchSize: 8, shuffle: true, buckets, dtypes: { i: "int32" } }),
    );
    expect(rows(batches).sort((a, b) => a - b)).toEqual(sentences.map(({ i: row }) => row));
    const lengths = new Set(batches.map((batch) => batch.tokens!.shape[1]));
    expect(lengths).toEqual(new Set([4, 8, 12]));
    for (const batch of batches) {
      const [count, length] = batch.tokens!.shape as [number, number];
      for (let row = 0; row < count; row++) {
        const { tokens } = sentences[batch.i!.data[row]!]!;
        const padded = [...tokens, ...Array.from({ length: length - tokens.length }, () => 0)];
        expect([...batch.tokens!.data.subarray(row * length, (row + 1) * length)]).toEqual(padded);
        expect([...batch.y!.data.subarray(row * length, (row + 1) * length)].filter((v) => v === -100)).toHaveLength(
          length - tokens.length,
        );
        expect(tokens.length).toBeGreaterThan(length - 4);
      }
    }
  });

  it("knows its length: whole batches of each bucket, and one more for a rest", () => {
    for (const dropLast of [false, true]) {
      const loader = new DataLoader(sentences, { batchSize: 8, shuffle: true, buckets, dropLast });
      expect(epochOf(loader, 3)).toHaveLength(loader.length!);
    }
  });

  it("pads data with an index by given lengths, and arrays of more dimensions at their first", () => {
    const lengths = sentences.map(({ tokens }) => tokens.length);
    const dataset = {
      length: 50,
      get: (row: number) => ({
        i: row,
        frames: { data: new Float32Array(lengths[row]! * 3).fill(1), shape: [lengths[row]!, 3] },
      }),
    };
    const [batch] = epochOf(
      new DataLoader(dataset, { batchSize: 8, buckets: { by: lengths, lengths: [12], pad: { frames: 9 } } }),
    );
    expect(batch!.frames!.shape).toEqual([8, 12, 3]);
    expect([...batch!.frames!.data.subarray(0, 6)]).toEqual([1, 1, 1, 9, 9, 9]);
  });
});

const kinds: Record<string, (options: DataLoaderOptions & { batchSize: number }) => DataLoader> = {
  weights: (options) => new DataLoader(data, { ...options, sampling: { weights: i } }),
  balanced: (options) => new DataLoader(data, { ...options, sampling: { balanced: "y" } }),
  stratified: (options) => new DataLoader(data, { ...options, sampling: { stratified: "y" } }),
  buckets: (options) => new DataLoader(sentences, { ...options, shuffle: true, buckets }),
};

describe.each(Object.entries(kinds))("%s", (_, make) => {
  it("resumes at any point with the very next batch", () => {
    fc.assert(
      fc.property(
        fc.record({ batchSize: fc.integer({ min: 1, max: 30 }), cut: fc.nat(20), epoch: fc.nat(3), seed: fc.nat(99) }),
        ({ batchSize, cut, epoch, seed }) => {
          const whole = epochOf(make({ batchSize }), epoch, seed);
          const first = make({ batchSize });
          first.begin(epoch, seed);
          for (let batch = 0; batch < cut; batch++)
            if (batch % 2 === 0) void first.next();
            else void first.skip();
          const state = JSON.parse(JSON.stringify(first.state())) as ReturnType<DataLoader["state"]>;
          const second = make({ batchSize });
          second.begin(epoch, seed);
          void second.load(state);
          const rest: HostBatch[] = [];
          for (let batch = second.next(); batch !== undefined; batch = second.next()) rest.push(batch as HostBatch);
          expect(rest).toEqual(whole.slice(state.batches));
        },
      ),
      { numRuns: 30 },
    );
  });

  it("gives ranks the rows of the batches that one process has", () => {
    const whole = epochOf(make({ batchSize: 12 }), 2);
    const shares = [0, 1, 2].map((rank) => {
      const loader = make({ batchSize: 12 });
      loader.begin(2, 1);
      return whole.map(
        () => loader.nextShare(rank, 3) as Exclude<ReturnType<DataLoader["nextShare"]>, Promise<unknown>>,
      );
    });
    for (const [at, batch] of whole.entries()) {
      const own = shares.map((share) => share[at]!);
      expect(own.flatMap((share) => (share.empty ? [] : [...share.batch.i!.data]))).toEqual([...batch.i!.data]);
      for (const share of own) expect(share.batch.i!.shape.slice(1)).toEqual(batch.i!.shape.slice(1));
    }
  });
});

describe("mistakes", () => {
  const load =
    (options: DataLoaderOptions, from: object = data) =>
    () =>
      new DataLoader(from as typeof data, { batchSize: 4, ...options });

  it.each<[string, () => unknown, string]>([
    ["another kind", load({ sampling: { weight: "y" } as never }), "to be { weights }, { balanced } or { stratified }"],
    ["a field that is missing", load({ sampling: { balanced: "label" } }), "finds no field `label` in memory"],
    [
      "a field of vectors",
      load({ sampling: { weights: "x" } }, { x: { data: new Float32Array(8), shape: [4, 2] } }),
      "field `x` has shape [4, 2]",
    ],
    ["too few weights", load({ sampling: { weights: [1, 2] } }), "one number for each of 100 samples, and has 2"],
    ["a weight below 0", load({ sampling: { weights: i.map((row) => row - 3) } }), "is -3 for sample 0"],
    ["no weight at all", load({ sampling: { weights: new Float32Array(100) } }), "is 0 for every sample"],
    ["a stream", load({ sampling: { balanced: "y" } }, () => [{ y: 1 }]), "`sampling` needs data with an index"],
    ["buckets of arrays", load({ buckets }), "`buckets` is for samples of different lengths"],
    [
      "a sample without room",
      load({ buckets: { ...buckets, lengths: [4, 8] } }, sentences),
      "and the longest of `buckets.lengths` is 8",
    ],
    [
      "lengths in disorder",
      load({ buckets: { ...buckets, lengths: [8, 4] } }, sentences),
      "Expected `buckets` to be { by, lengths, pad }",
    ],
    ["both", load({ buckets, sampling: { balanced: "i" } }, sentences), "give `sampling` or `buckets`"],
    [
      "a field without a length",
      load({ buckets: { ...buckets, by: "i" } }, sentences),
      "sample 0: field `i` has no length",
    ],
  ])("%s", (_, make, message) => {
    expect(make).toThrow(message);
  });
});
