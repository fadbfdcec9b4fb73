// Thousands of random models, other ones in every run: the native engine computes what wasm computes.
// HOOKLINE_FUZZ_SEED=… HOOKLINE_FUZZ_MODELS=1 with tests/engines/native-models.test.ts repeats one that failed.
import { expect, test } from "vitest";
import { compareModels } from "../support/compare-models.ts";

test("losses, gradients and updated parameters are those of wasm", { timeout: 15_000_000 }, async () => {
  const seed = Math.floor(Math.random() * 1e9);
  console.log(`random models from seed ${seed} on`);
  expect(await compareModels(seed, 3000)).toEqual([]);
});
