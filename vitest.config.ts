import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { compiledThreads } from "./tests/support/compiled-threads.ts";

const src = fileURLToPath(new URL("./src/", import.meta.url));

/**
 * Tests with a process of their own, since they depend on its memory, listeners or threads, or change it for good. All others
 * share a few processes, which import the package once.
 */
const ALONE = [
  "src/loggers/{append-file,jsonl}.test.ts",
  "tests/{docs,memory}.test.ts",
  "tests/{browser,engines,interop,lm,loggers,predict,ui}/**/*.test.ts",
];

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
  plugins: [compiledThreads],
  test: {
    ...everywhere,
    globalSetup: "./tests/support/compile-programs.ts",
    // Many tests wait for other processes: a third worker fills their pauses on two cores.
    maxWorkers: 3,
    projects: [
      {
        resolve,
        plugins: [compiledThreads],
        test: {
          ...everywhere,
          name: "shared",
          include: ["{src,tests}/**/*.test.ts"],
          exclude: [...everywhere.exclude, ...ALONE],
          isolate: false,
        },
      },
      {
        resolve,
        plugins: [compiledThreads],
        test: {
          ...everywhere,
          name: "own process",
          include: ALONE,
          // After the others, since a worker is kept only as long as the next file in the queue may share it.
          sequence: { groupOrder: 1 },
        },
      },
    ],
    reporters: ["default", "./tests/support/closing-line.ts"],
  },
});
