import { expect, it } from "vitest";
import { trialInfo } from "../../../tests/support/trials.ts";
import { Space } from "../space/space.ts";
import { uniform } from "../space/uniform.ts";
import { curvesChart } from "./curves-chart.ts";
import { factsOf } from "./facts.ts";

const loss = { metric: "loss", mode: "min" } as const;
const space = new Space({ x: uniform(0, 1) });

function curve(number: number, values: readonly number[]) {
  const reports = values.map((value, i) => ({ step: i + 1, values: { loss: value } }));
  return trialInfo(number, { params: { x: 0.5 }, reports, result: reports.at(-1)?.values });
}
const chartOf = (trials: ReturnType<typeof curve>[]): string | undefined =>
  curvesChart(factsOf({ name: "s", space, objectives: [loss], trials }), loss)?.text;

it("draws a line for each trial, the best on top", () => {
  const chart = chartOf([curve(0, [3, 1]), curve(1, [3, 2]), curve(2, [5, 4, 3])])!;
  expect([...chart.matchAll(/data-trial="(\d)"/g)].map(([, trial]) => trial)).toEqual(["2", "1", "0"]);
  expect(chart).not.toContain("trials:");
});

it("is missing where nobody has reported twice", () => {
  expect(chartOf([curve(0, [1]), curve(1, [])])).toBeUndefined();
});

it("leaves out what is no number", () => {
  expect(chartOf([curve(0, [3, Number.NaN, 2, Infinity, 1])])).not.toMatch(/NaN|Infinity/);
});

it("draws some of many, and says so; and not more corners than one sees", () => {
  const long = Array.from({ length: 10_001 }, (_, i) => 1 / (i + 1));
  const chart = chartOf(Array.from({ length: 400 }, (_, number) => curve(number, number === 0 ? long : [2, 1])))!;
  expect(chart.match(/<polyline/g)).toHaveLength(100);
  expect(chart).toContain("100 of 400 trials");
  const corners = /data-trial="0"[^>]*points="([^"]*)"/.exec(chart)![1]!.split(" ");
  expect(corners.length).toBeLessThanOrEqual(151);
  expect(corners.at(-1)).toMatch(/^1000,/);
});
