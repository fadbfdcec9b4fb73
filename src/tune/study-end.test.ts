import { expect, test } from "vitest";
import { FailureStreak } from "./study-end.ts";

const failure = (message: string) => ({ name: "Error", message });

test("ends the study with the last of so many that differ in numbers only", () => {
  const streak = new FailureStreak(3);
  const cause = new Error("trial 3");
  expect(streak.add(failure("no file run-1"), cause)).toBeUndefined();
  expect(streak.add(failure("no file run-22"), cause)).toBeUndefined();
  const error = streak.add(failure("no file run-3"), cause);
  expect(error?.message).toBe("Study: 3 trials in a row have failed alike, so it ends here: Error: no file run-3");
  expect(error?.cause).toBe(cause);
});

test("another failure begins anew, and so does a trial that went well", () => {
  const streak = new FailureStreak(2);
  expect(streak.add(failure("a"), undefined)).toBeUndefined();
  expect(streak.add(failure("b"), undefined)).toBeUndefined();
  streak.reset();
  expect(streak.add(failure("b"), undefined)).toBeUndefined();
  expect(streak.add(failure("b"), undefined)).toBeDefined();
});

test("the first failure can be enough", () => {
  expect(new FailureStreak(1).add(failure("a"), undefined)?.message).toMatch(/a trial has failed, so it ends here/);
});
