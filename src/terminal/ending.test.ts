import { expect, test } from "vitest";
import { howFar } from "./ending.ts";

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
