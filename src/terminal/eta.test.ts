// The estimate of the remaining time, durations, and how far a run came.
import { Pace, formatDuration, formatPace, howFar } from "./eta.ts";
import { describe, expect, test } from "vitest";

/** Steps of `each` seconds from `from` on, the first at `at`; returns when the last was done. */
function steps(pace: Pace, from: number, count: number, at: number, each: number): number {
  for (let i = 0; i < count; i++) pace.mark(from + i, at + i * each);
  return at + (count - 1) * each;
}

describe("pace", () => {
  test("is not known before two steps, and the first, which compiles, does not count", () => {
    const pace = new Pace();
    pace.begin(0);
    expect([pace.secondsPerStep, pace.left(100, 0)]).toEqual([undefined, undefined]);
    pace.mark(1, 60);
    expect([pace.secondsPerStep, pace.left(100, 60)]).toEqual([undefined, undefined]);
    pace.mark(2, 60.5);
    expect(pace.secondsPerStep).toBeCloseTo(0.5);
    expect(pace.left(100, 60.5)).toBeCloseTo(49);
  });

  test("after a resume only this part counts", () => {
    const pace = new Pace();
    pace.begin(9000);
    const at = steps(pace, 9001, 11, 1e6, 0.1);
    expect(pace.left(10_000, at)).toBeCloseTo(989 * 0.1);
  });

  test("follows a change within some seconds, and does not jump at once", () => {
    const pace = new Pace();
    pace.begin(0);
    let at = steps(pace, 1, 1000, 0, 0.1);
    at = steps(pace, 1001, 2, at + 0.2, 0.2);
    expect(pace.secondsPerStep).toBeCloseTo(0.1, 2);
    at = steps(pace, 1003, 300, at + 0.2, 0.2);
    expect(pace.secondsPerStep).toBeGreaterThan(0.19);
  });

  test("of slow steps is a mean over several, however long they take", () => {
    const pace = new Pace();
    pace.begin(0);
    [0, 30, 90, 120, 180].forEach((at, i) => pace.mark(i + 1, at));
    expect(pace.secondsPerStep).toBeGreaterThan(43);
    expect(pace.secondsPerStep).toBeLessThan(48);
  });

  test("the time left goes on between two steps, and never below zero", () => {
    const pace = new Pace();
    pace.begin(0);
    steps(pace, 1, 11, 0, 10);
    expect(pace.left(12, 100)).toBeCloseTo(10);
    expect(pace.left(12, 104)).toBeCloseTo(6);
    expect(pace.left(12, 1000)).toBe(0);
    expect(pace.left(5, 100)).toBe(0);
  });

  test("evaluations are no part of a step, but of the time left", () => {
    const pace = new Pace();
    pace.begin(100);
    // Before the first step: it will not come again.
    pace.evaluated(100, 1000);
    let at = steps(pace, 101, 10, 0, 1);
    pace.evaluated(110, 5);
    at = steps(pace, 111, 10, at + 6, 1);
    expect(pace.secondsPerStep).toBeCloseTo(1);
    expect(pace.left(130, at)).toBeCloseTo(10 + 5);
    pace.evaluated(120, 5);
    expect(pace.left(130, at + 5)).toBeCloseTo(10 + 5);
  });
});

test.each([
  [0, "0:00"],
  [7.4, "0:07"],
  [59.6, "1:00"],
  [725, "12:05"],
  [3600, "1:00:00"],
  [86_399, "23:59:59"],
  [183_240, "2d 02:54"],
  [-3, "0:00"],
  [Infinity, "-:--"],
])("%d seconds are %s", (seconds, shown) => {
  expect(formatDuration(seconds)).toBe(shown);
});

test.each([
  [1e-7, "10.0M steps/s"],
  [5e-5, "20.0k steps/s"],
  [1 / 143.4, "143 steps/s"],
  [1 / 99.96, "100 steps/s"],
  [0.04, "25.0 steps/s"],
  [0.45, "450 ms/step"],
  [2.44, "2.4 s/step"],
  [90, "1:30 /step"],
])("%d seconds a step are %s", (seconds, shown) => {
  expect(formatPace(seconds)).toBe(shown);
});

test.each([
  ["completed", 60, "after 60 steps in 0:06"],
  ["stopped", 1, "after 1 step in 0:06"],
  ["interrupted", 0, "after 0 steps in 0:06"],
  // Whether the step in which a run failed was done, nobody here knows.
  ["error", 1, "at step 1, after 0:06"],
  ["error", 0, "before the first step, after 0:06"],
])("a run that is %s at %i came so far: %s", (status, step, text) => {
  expect(howFar(status, step, 6)).toBe(text);
});
