// The long run of a predictor: a hundred thousand calls.
import { expect, test } from "vitest";
import { trainChurn } from "../predict/churn-run.ts";
import { watchBuffers } from "../support/live-buffers.ts";
import { predictorGrowth } from "../support/predictor-growth.ts";
import { tempDir } from "../support/temp-dir.ts";

test("a hundred thousand calls leave nothing behind", async () => {
  const live = await watchBuffers();
  const { heap, buffers } = await predictorGrowth(await trainChurn(tempDir()), live, 100_000);
  console.log(`heap ${heap} bytes, ${buffers} buffers`);
  expect(buffers).toBe(0);
  expect(heap).toBeLessThan(1024 * 1024);
});
