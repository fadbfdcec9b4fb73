import * as fc from "fast-check";
import { expect, test } from "vitest";
import { costRatio } from "../../tests/support/cost-ratio.ts";
import { permutation } from "./permutation.ts";

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
