import { expect, test } from "vitest";
import { killControllers } from "./controller-kills.ts";

// A hundred of them: npm run soak.
test("a controller killed again and again: every trial finishes once, as in the study without kills", async () => {
  const { kills, restarts, trials } = await killControllers(10);
  expect(kills).toBe(10);
  expect(restarts).toBeGreaterThan(2);
  expect(trials).toBeGreaterThanOrEqual(14);
});
