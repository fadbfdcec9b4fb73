import { describe, expect, it } from "vitest";
import { median, minimise } from "../../../tests/support/trials.ts";
import { choice, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import type { Sampler } from "../types.ts";
import { random } from "./random.ts";
import { sobol, sobolDirections } from "./sobol.ts";

const cube = (dimensions: number): Space =>
  new Space(Object.fromEntries(Array.from({ length: dimensions }, (_, d) => [`x${d}`, uniform(0, 1)])));

const points = (sampler: Sampler, space: Space, count: number): number[][] =>
  Array.from({ length: count }, (_, i) => Object.values(sampler.suggest(i, [], minimise(space))) as number[]);

/** The centred L2 discrepancy (Hickernell 1998): how far the points are from even, 0 being even. */
function discrepancy(of: readonly (readonly number[])[]): number {
  const n = of.length;
  const dimensions = of[0]!.length;
  const c = of.map((point) => point.map((x) => Math.abs(x - 0.5)));
  let single = 0;
  let pairs = 0;
  for (let i = 0; i < n; i++) {
    single += c[i]!.reduce((product, a) => product * (1 + a / 2 - (a * a) / 2), 1);
    for (let j = 0; j < n; j++) {
      let product = 1;
      for (let d = 0; d < dimensions; d++) {
        product *= 1 + c[i]![d]! / 2 + c[j]![d]! / 2 - Math.abs(of[i]![d]! - of[j]![d]!) / 2;
      }
      pairs += product;
    }
  }
  return Math.sqrt((13 / 12) ** dimensions - (2 / n) * single + pairs / (n * n));
}

describe("sobol", () => {
  it.each([
    [2, 64, 4],
    [6, 128, 2],
    [20, 256, 1.2],
  ])("in %i dimensions, %i points are spread better than random ones, %s times", (dimensions, count, times) => {
    const space = cube(dimensions);
    const seeds = [0, 1, 2, 3, 4];
    const even = median(seeds.map((seed) => discrepancy(points(sobol(space, { seed }), space, count))));
    const uneven = median(seeds.map((seed) => discrepancy(points(random(space, { seed }), space, count))));
    expect(uneven / even).toBeGreaterThan(times);
  });

  it("has one point in each of 2ᵏ equal parts of every dimension, whatever the seed", () => {
    const space = cube(40);
    for (const seed of [0, 1, 99]) {
      const drawn = points(sobol(space, { seed }), space, 64);
      for (let d = 0; d < 40; d++) {
        const cells = new Set(drawn.map((point) => Math.floor(point[d]! * 64)));
        expect(cells.size).toBe(64);
      }
    }
  });

  it("in the first two dimensions, has one point in each cell, however the plane is cut", () => {
    const space = cube(2);
    const drawn = points(sobol(space, { seed: 5 }), space, 64);
    for (let cut = 0; cut <= 6; cut++) {
      const cells = drawn.map(([x, y]) => `${Math.floor(x! * 2 ** cut)} ${Math.floor(y! * 2 ** (6 - cut))}`);
      expect(new Set(cells).size).toBe(64);
    }
  });

  it("has independent digits under scrambling: the mean of a point over seeds is the middle", () => {
    const space = cube(3);
    const first = Array.from({ length: 400 }, (_, seed) => points(sobol(space, { seed }), space, 3)[2]!);
    for (let d = 0; d < 3; d++) {
      const mean = first.reduce((sum, point) => sum + point[d]!, 0) / first.length;
      expect(Math.abs(mean - 0.5)).toBeLessThan(0.06);
    }
  });

  it("is a function of seed and number, and gives each option its share", () => {
    const space = new Space({ a: choice(["x", "y"]), b: uniform(0, 1) });
    const draw = (seed: number): unknown[] =>
      Array.from({ length: 32 }, (_, i) => sobol(space, { seed }).suggest(i, [], minimise(space)));
    expect(draw(3)).toEqual(draw(3));
    expect(draw(3)).not.toEqual(draw(4));
    expect(draw(3).filter((params) => (params as { a: string }).a === "x")).toHaveLength(16);
  });

  it("has no two dimensions alike, and says where it ends", () => {
    const lines = sobolDirections(100).map((directions) => directions.join(" "));
    expect(new Set(lines).size).toBe(100);
    expect(() => sobol(cube(101))).toThrow(
      "the space has 101 parameters, and the sequence is good for 100. Use random.",
    );
  });
});
