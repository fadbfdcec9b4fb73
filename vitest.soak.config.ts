// npm run soak: the tests that take minutes, apart from the others.
import { defineConfig, mergeConfig } from "vitest/config";
import config from "./vitest.config.ts";

export default mergeConfig(
  { ...config, test: { ...config.test, include: [], exclude: [] } },
  defineConfig({ test: { include: ["tests/soak/**/*.test.ts"], testTimeout: 600_000 } }),
);
