import { expect, test } from "vitest";
import { fakeRegistry } from "../../tests/support/fake-run.ts";
import { Calls } from "./calls.ts";

/** Calls around a store that cannot be closed. */
function failingCalls(): Calls {
  const { hooks, run } = fakeRegistry();
  return new Calls(hooks, run, 1000, {
    enter: async () => {},
    close: () => Promise.reject(new Error("the disk is gone")),
  });
}

test("what goes wrong at the very end is the call's error, and the next call may come", async () => {
  const calls = failingCalls();
  await expect(calls.bracket("fit", async () => 1)).rejects.toThrow("the disk is gone");
  calls.mustBeIdle("close");
});

test("after a failure it is attached to that one", async () => {
  const calls = failingCalls();
  const first = new Error("the first");
  const thrown = await calls.bracket("fit", () => Promise.reject(first)).catch((error: unknown) => error);
  expect(thrown).toBe(first);
  expect(thrown).toHaveProperty("hookErrors", [new Error("the disk is gone")]);
  calls.mustBeIdle("close");
});
