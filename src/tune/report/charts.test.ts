import { describe, expect, it } from "vitest";
import { trialInfo } from "../../../tests/support/trials.ts";
import { uniform } from "../space/parameters.ts";
import { Space } from "../space/space.ts";
import { curvesChart, frontChart, historyChart } from "./charts.ts";
import { factsOf } from "./facts.ts";

describe("history of an objective", () => {
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
});

describe("learning curves", () => {
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
});

describe("two objectives", () => {
  it("rings the trials that no other beats", () => {
    const objectives = [
      { metric: "loss", mode: "min" },
      { metric: "speed", mode: "max" },
    ] as const;
    const results = [
      { loss: 1, speed: 1 },
      { loss: 2, speed: 5 },
      { loss: 3, speed: 4 },
      { loss: Number.NaN, speed: 9 },
    ];
    const trials = results.map((result, number) => trialInfo(number, { params: { x: 0.5 }, result }));
    const facts = factsOf({ name: "s", space: new Space({ x: uniform(0, 1) }), objectives, trials });
    const chart = frontChart(facts, objectives[0], objectives[1]).text;
    expect(chart.match(/class="mark/g)).toHaveLength(3);
    const ringed = [...chart.matchAll(/class="ring"[^>]*\/><circle class="mark completed" data-trial="(\d)"/g)];
    expect(new Set(ringed.map(([, trial]) => Number(trial)))).toEqual(new Set([0, 1]));
  });
});
