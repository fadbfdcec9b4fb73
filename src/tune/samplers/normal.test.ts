import { expect, it } from "vitest";
import { Rng } from "../../data/random.ts";
import { drawInUnit, normalMass } from "./normal.ts";

it("knows how much of the standard normal lies where", () => {
  const known = [
    [0, 0.5],
    [1, 0.8413447461],
    [-1, 0.1586552539],
    [1.96, 0.9750021049],
    [2.9, 0.9981341867],
    [-3, 0.001349898],
    [-5, 2.866515719e-7],
    [9, 1],
    [-9, 0],
  ];
  for (const [x, value] of known) expect(normalMass(-Infinity, x!) / value! || 1).toBeCloseTo(1, 6);
  expect(normalMass(0.9, 1.1)).toBeCloseTo(0.0483942, 4);
  expect(normalMass(1, 1 + 1e-9) / 1e-9).toBeCloseTo(0.2419707, 6);
});

it("draws within [0, 1], around the mean", () => {
  const rng = new Rng(1);
  const draws = (mean: number, deviation: number): number[] =>
    Array.from({ length: 2000 }, () => drawInUnit(rng, mean, deviation));
  const narrow = draws(0.7, 0.05);
  expect(narrow.reduce((sum, x) => sum + x, 0) / 2000).toBeCloseTo(0.7, 2);
  for (const x of [...narrow, ...draws(0, 1), ...draws(1, 0.2)]) expect(x >= 0 && x <= 1).toBe(true);
});
