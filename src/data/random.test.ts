import { expect, test } from "vitest";
import { Rng, permutation } from "./random.ts";
import * as fc from "fast-check";
import { costRatio } from "../../tests/support/cost-ratio.ts";

const draw = (n: number, f: () => number): number[] => Array.from({ length: n }, f);

test("the sequence is a function of the key alone, and of all of it", () => {
  const sequence = (...key: number[]) => {
    const rng = new Rng(...key);
    return draw(5, () => rng.uint32()).join();
  };
  expect(sequence(1, 2, 3)).toBe(sequence(1, 2, 3));
  const keys = [[0], [1], [0, 0], [0, 1], [1, 0], [2 ** 32], [2 ** 33], [2 ** 53 - 1], [-1], [1, 2, 3], [1, 3, 2]];
  expect(new Set(keys.map((key) => sequence(...key))).size).toBe(keys.length);
});

test("the sequence never changes between versions: saved runs depend on it", () => {
  const rng = new Rng(42, 7);
  expect(draw(3, () => rng.uint32())).toMatchInlineSnapshot(`
    [
      965349625,
      2489204996,
      1402088996,
    ]
  `);
});

test("next() is uniform on [0, 1)", () => {
  const rng = new Rng(1);
  const values = draw(20_000, () => rng.next());
  expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...values)).toBeLessThan(1);
  expect(values.reduce((a, b) => a + b) / values.length).toBeCloseTo(0.5, 1);
});

test("first draws of neighbouring keys are as random as any", () => {
  const values = Array.from({ length: 20_000 }, (_, i) => new Rng(0, 0, 1, i).next());
  const bins = Array.from({ length: 20 }, () => 0);
  for (const value of values) bins[Math.floor(value * 20)]!++;
  const chi2 = bins.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
  // 99.9 % of uniform samples are below 43.8 (19 degrees of freedom).
  expect(chi2).toBeLessThan(43.8);
});

test("int(n) is in range and unbiased", () => {
  const rng = new Rng(3);
  expect(rng.int(1)).toBe(0);
  const counts = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < 12_000; i++) counts[rng.int(6)]!++;
  // 99.9 % are below 20.5 (5 degrees of freedom).
  expect(counts.reduce((sum, count) => sum + (count - 2000) ** 2 / 2000, 0)).toBeLessThan(20.5);
  expect(draw(100, () => rng.int(2 ** 32)).some((value) => value > 2 ** 31)).toBe(true);
});

test("normal() has mean 0 and deviation 1", () => {
  const rng = new Rng(5);
  const values = draw(20_000, () => rng.normal());
  const mean = values.reduce((a, b) => a + b) / values.length;
  expect(Math.abs(mean)).toBeLessThan(0.03);
  expect(Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length)).toBeCloseTo(1, 1);
});

test("holds every index once, and depends on seed and epoch only", () => {
  fc.assert(
    fc.property(fc.nat(300), fc.nat(), fc.nat(1000), (count, seed, epoch) => {
      const order = permutation(count, seed, epoch);
      expect(Array.from(order).sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
      expect(permutation(count, seed, epoch)).toEqual(order);
    }),
  );
  expect(permutation(50, 1, 0)).not.toEqual(permutation(50, 1, 1));
  expect(permutation(50, 1, 0)).not.toEqual(permutation(50, 2, 0));
});

test("every order of four is equally likely", () => {
  const counts = new Map<string, number>();
  for (let epoch = 0; epoch < 24_000; epoch++) {
    const key = permutation(4, 9, epoch).join();
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  expect(counts.size).toBe(24);
  // 99.9 % of fair shuffles are below 49.7 (23 degrees of freedom).
  expect([...counts.values()].reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0)).toBeLessThan(49.7);
});

test("takes time in proportion to the indices", () => {
  // 8 where it is linear, and some more for what no longer fits a cache; 64 where it is quadratic.
  const ratio = costRatio(
    () => permutation(20_000, 0, 1),
    () => permutation(160_000, 0, 1),
  );
  expect(ratio).toBeLessThan(32);
});
