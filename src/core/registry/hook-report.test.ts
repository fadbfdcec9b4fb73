import { expect, test } from "vitest";
import { HookTimes } from "./hook-report.ts";

test("times add up per hook and event, the most expensive first, sampled calls with their weight", () => {
  const times = new HookTimes();
  times.add("a", "stepEnd", 1, 1);
  times.add("b", "stepEnd", 2, 10);
  times.add("a", "stepEnd", 3, 1);
  times.add("a", "epochEnd", 0.5, 1);
  expect(times.report(new Map()).times).toEqual([
    { hook: "b", event: "stepEnd", calls: 10, ms: 20 },
    { hook: "a", event: "stepEnd", calls: 2, ms: 4 },
    { hook: "a", event: "epochEnd", calls: 1, ms: 0.5 },
  ]);
  times.clear();
  expect(times.report(new Map()).times).toEqual([]);
});

test("over budget is the mean call of one event, not a single slow one", () => {
  const times = new HookTimes();
  times.add("a", "stepEnd", 9, 1);
  for (let i = 0; i < 9; i++) times.add("a", "stepEnd", 1, 1);
  times.add("a", "log", 5, 1);
  times.add("free", "log", 100, 1);
  expect(times.report(new Map([["a", 2]])).overBudget).toEqual([{ hook: "a", event: "log", budget: 2, msPerCall: 5 }]);
});

test("a report is a copy", () => {
  const times = new HookTimes();
  times.add("a", "log", 1, 1);
  const before = times.report(new Map());
  times.add("a", "log", 1, 1);
  expect(before.times[0]!.calls).toBe(1);
});
