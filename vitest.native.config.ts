// npm run test:native: what must hold on every engine, once more on the native one.
import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: [
      "tests/trace/**/*.test.ts",
      "tests/resume/{every-step,rollback,saving}.test.ts",
      "tests/hooks/{document*,reference}.test.ts",
      "src/hooks/{custom-step,ema,freeze,gradient-*,loss-*,nan-guard,probe,swa,weight-monitor}.test.ts",
    ],
    env: { HOOKLINE_TEST_ENGINE: "native" },
    typecheck: { enabled: false },
  },
});
