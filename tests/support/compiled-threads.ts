// Under vitest, the threads of src/ run what compile-programs.ts has compiled, as those of the package do. From the sources,
// tsx would compile each thread's script anew, which takes five times as long as the thread's start.
import { relative } from "node:path";
import type { Plugin } from "vitest/config";
import { PROGRAMS_VARIABLE } from "./programs.ts";
import { root } from "./sources.ts";

/** A module says with its URL beside which script it lies. */
const BESIDE = /(?<=\b(?:beside: |startWorkerThread\())import\.meta\.url/g;

export const compiledThreads: Plugin = {
  name: "compiled-threads",
  enforce: "pre",
  transform(code, id) {
    const file = relative(root, id);
    if (!file.startsWith("src/") || file.endsWith(".test.ts")) return undefined;
    const compiled = JSON.stringify(`/${file.replace(/\.ts$/, ".js")}`);
    return code.replaceAll(BESIDE, `("file://" + process.env.${PROGRAMS_VARIABLE} + ${compiled})`);
  },
};
