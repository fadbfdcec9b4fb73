import * as fc from "fast-check";
import { expect, test } from "vitest";
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

test("a million indices take less than 50 ms", () => {
  permutation(100_000, 0, 0);
  // The best of three: the machine may be busy, and that is not what is measured.
  const times = [1, 2, 3].map((epoch) => {
    const start = performance.now();
    permutation(1_000_000, 0, epoch);
    return performance.now() - start;
  });
  expect(Math.min(...times)).toBeLessThan(50);
});
