// npm run test:native: what must hold on every engine, once more on the native one.
import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    projects: undefined,
    isolate: false,
    include: [
      "tests/trace/**/*.test.ts",
      "tests/resume/{every-step,rollback,saving}.test.ts",
      "tests/hooks/{document*,reference}.test.ts",
      "src/hooks/**/{custom-step,ema,freeze,gradient-*,loss-*,nan-guard,probe,swa,weight-monitor}.test.ts",
    ],
    // Hundreds of runs that are about events, not about numbers.
    exclude: ["tests/trace/{completeness,error-policy,verbs}.test.ts"],
    env: { HOOKLINE_TEST_ENGINE: "native" },
  },
});
