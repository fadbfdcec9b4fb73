import { OptionError } from "hookline";
import { describe, expect, it } from "vitest";
import { minimise } from "../../../tests/support/trials.ts";
import { type SpaceTree, choice, int, logUniform, uniform } from "../space/parameters.ts";
import type { Params } from "../types.ts";
import { grid, type GridOptions } from "./grid.ts";

const all = (space: SpaceTree, options?: GridOptions): Params[] => {
  const sampler = grid(space, options);
  return Array.from({ length: sampler.size! }, (_, number) => sampler.suggest(number, [], minimise(space)));
};

describe("grid", () => {
  it("has every combination once, the last parameter fastest", () => {
    expect(all({ a: choice(["x", "y"]), fixed: 1, b: int(1, 3) })).toEqual([
      { a: "x", fixed: 1, b: 1 },
      { a: "x", fixed: 1, b: 2 },
      { a: "x", fixed: 1, b: 3 },
      { a: "y", fixed: 1, b: 1 },
      { a: "y", fixed: 1, b: 2 },
      { a: "y", fixed: 1, b: 3 },
    ]);
  });

  it("has a branch's parameters only within the branch", () => {
    const space = { optimizer: choice([{ use: "sgd", momentum: uniform(0, 1) }, { use: "adamw" }]), n: int(1, 2) };
    expect(all(space, { points: 3 })).toEqual([
      ...[0, 0.5, 1].flatMap((momentum) => [1, 2].map((n) => ({ optimizer: { use: "sgd", momentum }, n }))),
      ...[1, 2].map((n) => ({ optimizer: { use: "adamw" }, n })),
    ]);
  });

  it("spreads `points` over each scale, ends included; by path also over whole numbers", () => {
    expect(all({ lr: logUniform(1e-4, 1) }, { points: 3 }).map(({ lr }) => lr)).toEqual([
      1e-4,
      expect.closeTo(1e-2, 12),
      1,
    ]);
    expect(all({ lr: uniform(0, 1) }, { points: 1 })).toEqual([{ lr: 0.5 }]);
    expect(all({ n: int(0, 100) }, { points: { n: 3 } })).toEqual([{ n: 0 }, { n: 50 }, { n: 100 }]);
    expect(all({ n: int(1, 2) }, { points: { n: 9 } })).toEqual([{ n: 1 }, { n: 2 }]);
    const byPath = all({ a: { x: uniform(0, 1) }, y: uniform(0, 1) }, { points: { "a.x": 2, y: 4 } });
    expect(byPath).toHaveLength(8);
  });

  it.each<[SpaceTree, GridOptions, string]>([
    [
      { a: { lr: uniform(0, 1) } },
      {},
      '`a.lr` is continuous, so a grid needs to know how many values to try: points: 5, or points: { "a.lr": 5 }.',
    ],
    [{ lr: uniform(0, 1) }, { points: 0 }, "Expected `points` to be a whole number ≥ 1 or an object, got `0`"],
    [{ lr: uniform(0, 1) }, { points: { lr: 0 } }, "Expected `lr` to be a whole number ≥ 1, got `0`"],
    [
      { rate: uniform(0, 1) },
      { points: { rat: 2 } },
      "`points` names `rat`, which is not a number in the space. Did you mean `rate`?",
    ],
    [{ a: choice([1, 2]) }, { points: { a: 2 } }, "`points` names `a`, which is a choice: all its options are tried."],
    [{ a: int(0, 2 ** 40), b: int(0, 2 ** 40) }, {}, "which is too many"],
  ])("refuses what it cannot list: case %#", (space, options, message) => {
    expect(() => grid(space, options)).toThrow(OptionError);
    expect(() => grid(space, options)).toThrow(message);
  });

  it("has no trial after the last", () => {
    const space = { n: int(1, 2) };
    expect(() => grid(space).suggest(2, [], minimise(space))).toThrow("there are 2 points, and no trial 2");
  });
});
