import { grad, jit, numpy as np, random } from "@jax-js/jax";
import { beforeAll, describe, expect, it } from "vitest";
import { put, read, startWasm } from "../../tests/support/gradcheck.ts";
import type { Tensor } from "../core/model.ts";
import { initKey, keyStream, stepKey, threefry } from "./key.ts";

beforeAll(startWasm);

const moments = (data: Float32Array) => {
  const mean = data.reduce((a, b) => a + b, 0) / data.length;
  const variance = data.reduce((a, b) => a + (b - mean) ** 2, 0) / data.length;
  return { mean, variance };
};

describe("threefry", () => {
  // Random123's known answers for threefry2x32, 20 rounds.
  it.each([
    [0, 0, 0, 0, 0x6b200159, 0x99ba4efe],
    [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7],
    [0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0],
  ])("has the published answer for key %i %i", (k0, k1, c0, c1, a, b) => {
    const out = new Uint32Array(2);
    threefry(k0, k1, c0, c1, out);
    expect([...out]).toEqual([a, b]);
  });
});

describe("initKey", () => {
  it("gives the same bits for the same seed and path, and others for others", () => {
    const draw = (seed: number, part: string | number) => [...initKey(seed).fold(part).uniform([8], 0, 1).data];
    expect(draw(1, "a")).toEqual(draw(1, "a"));
    const all = [draw(1, "a"), draw(1, "b"), draw(2, "a"), draw(2 ** 32 + 1, "a"), draw(1, 0), draw(1, 1)];
    expect(new Set(all.map(String)).size).toBe(all.length);
  });

  it("draws uniform and normal numbers with the right moments, in odd sizes too", () => {
    const u = initKey(0).uniform([3, 33_333], -2, 4);
    expect(u.data.length).toBe(99_999);
    expect(u.data.every((v) => v >= -2 && v <= 4)).toBe(true);
    expect(moments(u.data).mean).toBeCloseTo(1, 1);
    expect(moments(u.data).variance).toBeCloseTo(3, 1);
    const n = initKey(0).normal([99_999], 3, 2);
    expect(moments(n.data).mean).toBeCloseTo(3, 1);
    expect(moments(n.data).variance).toBeCloseTo(4, 0);
    expect(n.data.every(Number.isFinite)).toBe(true);
  });

  it("refuses seeds that are not whole numbers", () => {
    expect(() => initKey(-1)).toThrow("Expected `seed` to be a whole number ≥ 0, got `-1` (number)");
    expect(() => stepKey(0.5, 0, 0)).toThrow("whole number");
  });
});

describe("stepKey", () => {
  it("is a function of seed, step and micro-batch, without collisions", () => {
    const seen = new Set<string>();
    for (const seed of [0, 1, 2 ** 40])
      for (let step = 0; step < 100; step++)
        for (let micro = 0; micro < 4; micro++) seen.add(String(stepKey(seed, step, micro)));
    expect(seen.size).toBe(1200);
    expect(stepKey(5, 6, 7)).toEqual(stepKey(5, 6, 7));
  });

  it("is mixed: about half of the bits change from one step to the next", () => {
    let changed = 0;
    for (let step = 0; step < 200; step++) {
      const [a, b] = [stepKey(0, step, 0), stepKey(0, step + 1, 0)];
      for (const i of [0, 1]) changed += ((a[i]! ^ b[i]!) >>> 0).toString(2).replaceAll("0", "").length;
    }
    expect(changed / (200 * 64)).toBeCloseTo(0.5, 1);
  });
});

describe("keyStream", () => {
  const words = (step: number) => put({ data: stepKey(0, step, 0), shape: [2] });

  it("gives independent keys inside jit, the same each time", () => {
    const program = jit((key: Tensor) => {
      const keys = keyStream(key);
      return [random.uniform(keys.next(), [1000]), random.uniform(keys.next(), [1000])];
    });
    const [a, b] = program(words(1)).map(read) as [number[], number[]];
    const [again] = program(words(1)).map(read);
    const [other] = program(words(2)).map(read);
    expect(again).toEqual(a);
    expect(other).not.toEqual(a);
    const correlation = a.reduce((sum, v, i) => sum + (v - 0.5) * (b[i]! - 0.5), 0) / 1000 / (1 / 12);
    expect(Math.abs(correlation)).toBeLessThan(0.1);
    expect(a.filter((v) => b.includes(v)).length).toBeLessThan(5);
  });

  it("works below a gradient", () => {
    const program = jit((x: Tensor, key: Tensor) =>
      grad((v: Tensor) => np.where(random.bernoulli(keyStream(key).next(), 0.5, [64]), v, 0).sum())(x),
    );
    const g = read(program(np.ones([64]), words(3)));
    expect(new Set(g)).toEqual(new Set([0, 1]));
  });
});
