import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = fileURLToPath(new URL("./src/", import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^hookline$/, replacement: `${src}index.ts` },
      { find: /^hookline\/(.+)$/, replacement: `${src}$1/index.ts` },
    ],
  },
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    exclude: ["tests/soak/**", "tests/.programs/**"],
    globalSetup: "./tests/support/compile-programs.ts",
    // Only to end a test that hangs: how long one takes depends on what else the machine does.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // Many tests wait for other processes: a third worker fills their pauses on two cores.
    maxWorkers: 3,
    typecheck: { enabled: true, include: ["src/**/*.test-d.ts", "tests/**/*.test-d.ts"], tsconfig: "./tsconfig.json" },
    reporters: ["default", "./tests/support/closing-line.ts"],
  },
});
