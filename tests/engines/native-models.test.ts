// Random models, trained for a step: the native engine computes what wasm computes, whatever the shapes and threads.
// HOOKLINE_FUZZ_SEED=… repeats one, or begins elsewhere; HOOKLINE_FUZZ_MODELS=… says how many.
import { expect, test } from "vitest";
import { compareModels } from "../support/compare-models.ts";

const { HOOKLINE_FUZZ_SEED: seed = "1", HOOKLINE_FUZZ_MODELS: count = "50" } = process.env;

test(
  "losses, gradients and updated parameters are those of wasm",
  { timeout: 60_000 + 5000 * Number(count) },
  async () => {
    expect(await compareModels(Number(seed), Number(count))).toEqual([]);
  },
);
