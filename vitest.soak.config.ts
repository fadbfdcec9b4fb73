// npm run soak: the tests that take minutes, apart from the others.
import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    projects: undefined,
    include: [
      "tests/soak/**/*.test.ts",
      "tests/tutorial/*.test.ts",
      "tests/crash/{faults,jsonl-kills,kill,opfs}.test.ts",
      "tests/hooks/{conformance,resume}.test.ts",
      "tests/process/checkpoint-signals.test.ts",
      "tests/resume/{control-replay,every-step}.test.ts",
      "tests/tune/bullmq-attack.test.ts",
    ],
    exclude: [],
    env: { HOOKLINE_SOAK: "1" },
  },
});
