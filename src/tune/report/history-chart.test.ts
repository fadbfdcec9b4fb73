import { expect, it } from "vitest";
import { trialInfo } from "../../../tests/support/trials.ts";
import { Space } from "../space/space.ts";
import { uniform } from "../space/uniform.ts";
import { factsOf } from "./facts.ts";
import { historyChart } from "./history-chart.ts";

const loss = { metric: "loss", mode: "min" } as const;
const space = new Space({ x: uniform(0, 1) });
const params = { x: 0.5 };
const done = (number: number, value: number) => trialInfo(number, { params, result: { loss: value } });

const chartOf = (...trials: ReturnType<typeof done>[]): string =>
  historyChart(factsOf({ name: "s", space, objectives: [loss], trials }), loss).text;

it("has a point for each trial, and a line that goes where a completed one is better", () => {
  const pruned = trialInfo(3, { params, status: "pruned", result: { loss: 0.1 } });
  const chart = chartOf(done(0, 3), done(1, 4), done(2, 1), pruned);
  expect(chart.match(/<circle/g)).toHaveLength(4);
  const corners = /class="best" points="([^"]*)"/
    .exec(chart)![1]!
    .split(" ")
    .map((corner) => corner.split(",").map(Number));
  // Trial 0 until trial 2, then trial 2 until the end: the pruned one does not count.
  expect(corners).toHaveLength(4);
  expect(corners.map(([x]) => x)).toEqual([125, 625, 625, 1000]);
  expect(corners[0]![1]).toBe(corners[1]![1]);
  expect(corners[2]![1]).toBeGreaterThan(corners[1]![1]!);
  expect(chart).toContain("Faint ones ended early");
});

it("shows failures as crosses, and no point for what is no number", () => {
  const failed = trialInfo(1, { params, status: "failed", reason: "boom" });
  const chart = chartOf(done(0, Number.NaN), failed, done(2, 1));
  expect(chart.match(/<circle/g)).toHaveLength(1);
  expect(chart.match(/>×<\/text/g)).toHaveLength(1);
  expect(chart).toContain("Those with × failed");
  expect(chart).not.toMatch(/NaN|Infinity|undefined/);
});

it("says when a value lies beyond the axis", () => {
  const near = [1, 1.1, 1.2, 1.3].map((value, i) => done(i, value));
  expect(chartOf(...near)).not.toContain("at the edge");
  expect(chartOf(...near, done(4, 20))).toContain("Those at the edge lie beyond it.");
});
