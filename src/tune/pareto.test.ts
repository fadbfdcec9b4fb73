import fc from "fast-check";
import { expect, it } from "vitest";
import { dominates, paretoFront, paretoOrder } from "./pareto.ts";
import type { Objective, TrialRecord } from "./types.ts";

const objectives: readonly Objective[] = [
  { metric: "loss", mode: "min" },
  { metric: "speed", mode: "max" },
];
const trial = (
  number: number,
  loss: number,
  speed: number,
  status: TrialRecord["status"] = "completed",
): TrialRecord => ({
  number,
  params: {},
  status,
  reports: [],
  result: { loss, speed },
});
const numbers = (trials: readonly TrialRecord[]): number[] => trials.map(({ number }) => number);

it("has the completed trials that no other beats in everything", () => {
  const trials = [
    trial(0, 1, 1),
    trial(1, 2, 5),
    trial(2, 2, 4),
    trial(3, 3, 9),
    trial(4, 0, 99, "pruned"),
    trial(5, NaN, 99),
    trial(6, 3, 9),
    { ...trial(7, 0, 0), result: { loss: 0 } },
  ];
  expect(numbers(paretoFront(trials, objectives))).toEqual([0, 1, 3, 6]);
  expect(numbers(paretoFront(trials, objectives.slice(0, 1)))).toEqual([7]);
  expect(paretoFront([], objectives)).toEqual([]);
});

it("orders points so that none comes after one that it dominates, and the ends of a front come first", () => {
  const point = fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5));
  fc.assert(
    fc.property(fc.array(point, { maxLength: 30 }), (points) => {
      const order = paretoOrder(points);
      expect(order.toSorted((a, b) => a - b)).toEqual(points.map((_, i) => i));
      for (const [k, i] of order.entries()) {
        for (const j of order.slice(k + 1)) expect(dominates(points[j]!, points[i]!)).toBe(false);
      }
    }),
  );
  expect(
    paretoOrder([
      [2, 2],
      [0, 4],
      [1, 3],
      [4, 0],
      [5, 5],
    ]),
  ).toEqual([1, 3, 0, 2, 4]);
});
