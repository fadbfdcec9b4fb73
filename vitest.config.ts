import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = fileURLToPath(new URL("./src/", import.meta.url));

/** Tests that leave a process as they found it: they run in the same few processes, which import the package once. */
const SHARED = "tests/{experiment,hooks,hostile,resume,structure,tables,trace}/**/*.test.ts";

/** Tests beside sources that depend on the listeners and threads of their process. */
const ALONE = "src/loggers/{append-file,jsonl}.test.ts";

const resolve = {
  alias: [
    { find: /^hookline$/, replacement: `${src}index.ts` },
    { find: /^hookline\/(.+)$/, replacement: `${src}$1/index.ts` },
  ],
};

const everywhere = {
  exclude: ["tests/soak/**", "tests/.programs/**"],
  // Only to end a test that hangs: how long one takes depends on what else the machine does.
  testTimeout: 900_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: 300_000 } },
};

export default defineConfig({
  resolve,
  test: {
    ...everywhere,
    globalSetup: "./tests/support/compile-programs.ts",
    // Many tests wait for other processes: a third worker fills their pauses on two cores.
    maxWorkers: 3,
    projects: [
      {
        resolve,
        test: {
          ...everywhere,
          name: "shared",
          include: ["src/**/*.test.ts", SHARED],
          exclude: [...everywhere.exclude, ALONE],
          isolate: false,
        },
      },
      {
        resolve,
        test: {
          ...everywhere,
          name: "own process",
          include: ["tests/**/*.test.ts", ALONE],
          exclude: [...everywhere.exclude, SHARED],
          // After the others, since a worker is kept only as long as the next file in the queue may share it.
          sequence: { groupOrder: 1 },
        },
      },
    ],
    reporters: ["default", "./tests/support/closing-line.ts"],
  },
});
