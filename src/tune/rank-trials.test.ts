import { expect, it } from "vitest";
import { completed, minimise, reported } from "../../tests/support/trials.ts";
import { uniform } from "./space/uniform.ts";
import { orderTrials, rankNote, rankTrials } from "./rank-trials.ts";

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
