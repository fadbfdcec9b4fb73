// A predictor keeps nothing of its calls: neither heap nor buffers grow. A hundred thousand calls: tests/soak/predictor.test.ts.
import { expect, test } from "vitest";
import { watchBuffers } from "../support/live-buffers.ts";
import { predictorGrowth } from "../support/predictor-growth.ts";
import { tempDir } from "../support/temp-dir.ts";
import { trainChurn } from "./churn-run.ts";

test("two thousand calls, good and bad, leave nothing behind", async () => {
  const live = await watchBuffers();
  const { heap, buffers } = await predictorGrowth(await trainChurn(tempDir()), live, 2000);
  expect(buffers).toBe(0);
  expect(heap).toBeLessThan(1024 * 1024);
});
