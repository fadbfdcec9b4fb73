import { expect, it } from "vitest";
import { trialInfo } from "../../../tests/support/trials.ts";
import { choice, logUniform, uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import type { Params } from "../types.ts";
import { factsOf } from "./facts.ts";
import { parallelChart } from "./parallel-chart.ts";

const space = new Space({
  lr: logUniform(1e-4, 1),
  optimizer: choice([
    { use: "sgd", decay: uniform(0, 1) },
    { use: "adamw", decay: uniform(0, 2) },
  ]),
});
const objectives = [{ metric: "loss", mode: "min" }] as const;

const chartOf = (all: readonly Params[]): string => {
  const trials = all.map((params, number) => trialInfo(number, { params, result: { loss: number + 1 } }));
  return parallelChart(factsOf({ name: "s", space, objectives, trials })).text;
};
const heights = (chart: string, trial: number): number[] =>
  new RegExp(`data-trial="${trial}"[^>]*points="([^"]*)"`)
    .exec(chart)![1]!
    .split(" ")
    .map((corner) => Number(corner.split(",")[1]));

it("leads each trial through its values, on the scales they were searched on", () => {
  const chart = chartOf([
    { lr: 0.01, optimizer: { use: "sgd", decay: 0.25 } },
    { lr: 1, optimizer: { use: "adamw", decay: 0.5 } },
  ]);
  // 220 high: the middle is 110. What a trial does not have lies below its axis.
  expect(heights(chart, 0).slice(0, 4)).toEqual([110, 220, 165, 246.4]);
  expect(heights(chart, 1).slice(0, 4)).toEqual([0, 0, 246.4, 165]);
  expect(heights(chart, 0)).toHaveLength(5);
  expect(chart.match(/class="upright"/g)).toHaveLength(5);
});

it("tells parameters of the same name apart, and shows options by their labels", () => {
  const chart = chartOf([{ lr: 0.01, optimizer: { use: "sgd", decay: 0.25 } }]);
  expect(chart).toContain("<title>optimizer.decay (sgd)</title>");
  expect(chart).toContain("<title>optimizer.decay (adamw)</title>");
  expect(chart).toContain("<title>adamw</title>");
});

it("draws some of many, and says so", () => {
  const chart = chartOf(Array.from({ length: 500 }, () => ({ lr: 0.01, optimizer: { use: "sgd", decay: 0.25 } })));
  expect(chart.match(/<polyline/g)).toHaveLength(300);
  expect(chart).toContain("300 of 500 trials");
});
