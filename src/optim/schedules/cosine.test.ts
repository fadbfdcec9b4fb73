import { expect, test } from "vitest";
import type { ScheduleTime } from "../../core/schedule.ts";
import { cosine } from "./cosine.ts";

const at = (step: number, totalSteps?: number): ScheduleTime => ({
  step,
  epoch: 0,
  totalSteps,
  totalEpochs: undefined,
});

test("goes down half a cosine, to `min`", () => {
  const schedule = cosine({ min: 0.2 });
  expect(schedule.factor(at(0, 100))).toBe(1);
  expect(schedule.factor(at(50, 100))).toBeCloseTo(0.6, 12);
  expect(schedule.factor(at(100, 100))).toBe(0.2);
  expect(schedule.factor(at(1000, 100))).toBe(0.2);
});

test.each([10, "10 steps", "10%"] as const)(
  "warmup %s rises in even parts, never from zero, and joins the cosine",
  (warmup) => {
    const schedule = cosine({ warmup });
    const rise = Array.from({ length: 11 }, (_, t) => schedule.factor(at(t, 100)));
    for (const [t, factor] of rise.entries()) expect(factor).toBeCloseTo((t + 1) / 11, 12);
    expect(schedule.factor(at(55, 100))).toBeCloseTo(0.5, 12);
  },
);

test("a run that is all warmup, and one of a single step", () => {
  expect(cosine({ warmup: 10 }).factor(at(4, 5))).toBeCloseTo(5 / 11, 12);
  expect(cosine({ warmup: "100%" }).factor(at(9, 10))).toBeCloseTo(10 / 11, 12);
  expect(cosine().factor(at(0, 1))).toBe(1);
});

test("cycles start again from 1", () => {
  const schedule = cosine({ cycles: 2 });
  expect([0, 25, 50, 75].map((t) => schedule.factor(at(t, 100)))).toEqual(
    [1, 0.5, 1, 0.5].map((x) => expect.closeTo(x, 12)),
  );
  expect(schedule.factor(at(100, 100))).toBe(0);
});

test("an amount must be one, in the schedule's unit", () => {
  expect(() => cosine({ warmup: "5 minutes" as never })).toThrow(
    'a count such as "100 steps", or a part of the run such as "5%"',
  );
  expect(() => cosine({ warmup: "2 epochs" })).toThrow(
    "cosine: warmup: `2 epochs` is not in steps, which this schedule counts.",
  );
  expect(() => cosine({ warmup: "150%" })).toThrow("`150%` is more than the whole run");
  expect(() => cosine({ warmup: "1.5 steps" })).toThrow("not a whole number of steps");
  expect(cosine({ warmup: "1 epoch", interval: "epoch" }).factor({ ...at(0), totalEpochs: 3 })).toBe(0.5);
});
