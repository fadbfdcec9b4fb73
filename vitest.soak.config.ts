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
      "tests/crash/jsonl-kills.test.ts",
      "tests/process/checkpoint-signals.test.ts",
      "tests/resume/every-step.test.ts",
    ],
    exclude: [],
    env: { HOOKLINE_SOAK: "1" },
  },
});
