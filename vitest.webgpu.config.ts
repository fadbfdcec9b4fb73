// npm run test:webgpu: what must hold on every engine, once more on WebGPU in Node: on SwiftShader, or with
// HOOKLINE_TEST_GPU=own on the GPU of this machine.
import { defineConfig } from "vitest/config";
import native from "./vitest.native.config.ts";

export default defineConfig({
  ...native,
  test: {
    ...native.test,
    include: [...native.test!.include!, "tests/engines/native-{primitives,nn,conv}.test.ts"],
    env: { HOOKLINE_TEST_ENGINE: "webgpu" },
    globalSetup: [native.test!.globalSetup as string, "./tests/engines/webgpu/setup.ts"],
  },
});
