// The schedules that are one formula: constant, linear, step, exponential, oneCycle.
import { expect, test } from "vitest";
import type { ScheduleTime } from "../../core/schedule.ts";
import { constant, cosine, exponential, linear, oneCycle, step } from "../index.ts";

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
