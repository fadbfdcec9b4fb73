import { describe, expect, test } from "vitest";
import type { ScheduleTime } from "../../core/optimizer.ts";
import { constant, cosine, exponential, linear, oneCycle, step } from "./curves.ts";

describe("constant, linear, step, exponential and oneCycle", () => {
  const at = (count: number, total?: number): ScheduleTime => ({
    step: count,
    epoch: Math.floor(count / 10),
    totalSteps: total,
    totalEpochs: total === undefined ? undefined : Math.ceil(total / 10),
  });

  test("constant", () => {
    expect(constant().factor(at(5))).toBe(1);
    expect(constant({ factor: 0.3 }).factor(at(50))).toBe(0.3);
  });

  test("linear goes from start to end and stays there", () => {
    const half = linear({ start: 1, end: 0.5 });
    expect([0, 50, 100, 150].map((t) => half.factor(at(t, 100)))).toEqual([1, 0.75, 0.5, 0.5]);
    expect(linear({ total: 10 }).factor(at(5))).toBe(0.5);
    expect(linear({ interval: "epoch" }).factor(at(29, 40))).toBe(0.5);
  });

  test("step and exponential count epochs unless told otherwise", () => {
    expect(step({ every: 2 }).interval).toBe("epoch");
    expect([0, 19, 20, 45].map((t) => step({ every: 2, gamma: 0.5 }).factor(at(t)))).toEqual([1, 1, 0.5, 0.25]);
    expect(step({ every: 2, gamma: 0.5, interval: "step" }).factor(at(4))).toBe(0.25);
    expect(exponential({ gamma: 0.5 }).factor(at(31))).toBe(0.125);
    expect(exponential({ gamma: 0.5, interval: "step" })).toMatchObject({ interval: "step" });
  });

  test("oneCycle peaks at 1 and ends at almost nothing, for short runs too", () => {
    const cycle = oneCycle({ divFactor: 10, finalDivFactor: 100 });
    expect(cycle.factor(at(0, 100))).toBeCloseTo(0.1, 12);
    expect(cycle.factor(at(29, 100))).toBeCloseTo(1, 12);
    expect(cycle.factor(at(99, 100))).toBeCloseTo(0.001, 12);
    expect(cycle.factor(at(500, 100))).toBeCloseTo(0.001, 12);
    for (const pctStart of [0, 0.3, 0.5, 1]) {
      for (let total = 1; total < 6; total++) {
        for (let t = 0; t < total; t++) {
          const factor = oneCycle({ pctStart }).factor(at(t, total));
          expect(factor).toBeGreaterThan(0);
          expect(factor).toBeLessThanOrEqual(1);
        }
      }
    }
  });

  test("a schedule that needs the length of the run says how to give it", () => {
    for (const schedule of [linear(), cosine(), oneCycle(), cosine({ interval: "epoch" })]) {
      expect(() => schedule.factor(at(0))).toThrow(
        `${schedule.name}: needs the length of the run, and it is not known (a stream, or only a time limit). Give \`total\` to the schedule, in ${schedule.interval}s, or set \`steps\` or \`epochs\` on the trainer.`,
      );
    }
  });

  test("wrong options are errors", () => {
    expect(() => step({} as never)).toThrow("step: missing option `every` (a whole number ≥ 1)");
    expect(() => step({ every: 0 })).toThrow("Expected `every` to be a whole number ≥ 1, got `0` (number)");
    expect(() => exponential({ gama: 0.9 } as never)).toThrow("Did you mean `gamma`?");
    expect(() => linear({ interval: "batch" as never })).toThrow('Expected `interval` to be one of "step", "epoch"');
    expect(() => oneCycle({ pctStart: 1.5 })).toThrow("Expected `pctStart` to be a number from 0 to 1");
  });
});

describe("cosine", () => {
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
});
