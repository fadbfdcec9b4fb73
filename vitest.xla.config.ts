// npm run test:xla: what must hold on every engine, once more on XLA: on the plugin that HOOKLINE_PJRT_PLUGIN names, else on
// XLA's CPU client behind the test plugin, where Python has jaxlib.
import { defineConfig } from "vitest/config";
import native from "./vitest.native.config.ts";

export default defineConfig({
  ...native,
  test: {
    ...native.test,
    include: [
      ...native.test!.include!,
      "tests/engines/native-{primitives,nn,conv}.test.ts",
      "tests/engines/xla/endurance.test.ts",
      "tests/lm/{adapter,generate,golden,training}.test.ts",
    ],
    env: { HOOKLINE_TEST_ENGINE: "xla" },
    globalSetup: [native.test!.globalSetup as string, "./tests/engines/xla/setup.ts"],
  },
});
