import { describe, expect, it } from "vitest";
import { completed, minimise, reported } from "../../tests/support/trials.ts";
import { dominates, orderTrials, paretoFront, paretoOrder, rankNote, rankTrials } from "./ranking.ts";
import { uniform } from "./space/parameters.ts";
import type { Objective, TrialRecord } from "./types.ts";
import fc from "fast-check";

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

describe("ranking of trials", () => {
  const { objectives } = minimise({ x: uniform(0, 1) });

  it("has completed trials first, then those that came farthest, each by loss, then those without a number; and none that cannot be compared", () => {
    const trials = [
      reported(0, [0.1], "pruned"),
      completed(1, {}, 5),
      reported(2, [9, 9], "pruned"),
      completed(3, {}, NaN),
      reported(4, [9, 8], "paused"),
      completed(5, {}, 4),
      reported(6, [0], "running"),
      reported(7, [0], "failed"),
      { ...completed(8, {}, 0), result: undefined },
      reported(9, [], "pruned"),
    ];
    expect(rankTrials(trials, objectives).map(({ number }) => number)).toEqual([5, 1, 4, 2, 0, 3]);
  });

  it("orders all trials for a table: completed, ended early, unfinished, failed; each as they are ranked", () => {
    const trials = [
      reported(0, [], "failed"),
      reported(1, [0.1], "running"),
      reported(2, [0.1, 0.1], "pruned"),
      completed(3, {}, NaN),
      reported(4, [0], "interrupted"),
      reported(5, [], "pruned"),
      reported(6, [0, 0], "paused"),
      completed(7, {}, 5),
      completed(8, {}, 4),
    ];
    expect(orderTrials(trials, objectives).map(({ number }) => number)).toEqual([8, 7, 3, 6, 2, 5, 1, 4, 0]);
  });

  it("says why a better value stands below a worse one, where it does", () => {
    const pruned = (loss: number) => reported(2, [9, loss], "pruned");
    expect(rankNote([completed(0, {}, 5), completed(1, {}, 6), pruned(4)], objectives)).toMatch(/fewer steps/);
    expect(rankNote([completed(0, {}, 5), completed(1, {}, 6), pruned(5.5)], objectives)).toMatch(/fewer steps/);
    expect(rankNote([completed(0, {}, 5), completed(1, {}, 6), pruned(7)], objectives)).toBeUndefined();
    expect(rankNote([pruned(1)], objectives)).toBeUndefined();
  });
});
