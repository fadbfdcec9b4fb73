// npm run test:node24: unit, trace and resume tests on the next Node, which npm fetches for the occasion.
import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    projects: undefined,
    include: [
      "src/**/*.test.ts",
      "tests/trace/**/*.test.ts",
      "tests/resume/**/*.test.ts",
      "tests/engines/native-graphs.test.ts",
    ],
  },
});
