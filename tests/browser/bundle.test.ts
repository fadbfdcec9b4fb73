// What a browser would download, and what Node loads where an entry is for Node: nothing of Node's in the first, and not
// more than its budget.
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { bundle, ENTRIES, firstDownload } from "../support/bundle.ts";

/** Bytes after minify and gzip, without jax-js: about 5 to 15 % above what it was when last measured. */
const BUDGETS: Readonly<Record<string, number>> = {
  hookline: 132_500,
  "hookline/nn": 19_500,
  "hookline/optim": 6_500,
  "hookline/data": 34_500,
  "hookline/checkpoint": 41_000,
  "hookline/loggers": 60_000,
  "hookline/runs": 14_500,
  "hookline/experiment": 127_000,
  "hookline/config": 62_000,
  "hookline/jax": 330,
  "hookline/native": 46_500,
  "hookline/xla": 31_000,
  "hookline/tune": 52_000,
  "hookline/predict": 75_000,
  "hookline/lm": 155_000,
  "hookline/testing": 95_000,
};

/** Config files are for Node: they bring parsers. So are the native engine and XLA. */
const forNode = ["hookline/config", "hookline/native", "hookline/xla"];

describe.each(Object.keys(ENTRIES).filter((name) => !forNode.includes(name)))("%s", (name) => {
  test("bundles for a browser and imports only jax-js", async () => {
    const { meta } = await bundle({ source: `export * from "${name}"` }, { jax: false });
    const imports = Object.values(meta.outputs).flatMap((output) => output.imports.map(({ path }) => path));
    expect(imports.filter((path) => path !== "@jax-js/jax")).toEqual([]);
    expect(Object.keys(meta.inputs).filter((file) => file.includes("node_modules"))).toEqual([]);
  });
});

test.each(Object.keys(ENTRIES))("%s stays within its budget", async (name) => {
  const code = await firstDownload({ source: `export * from "${name}"` }, forNode.includes(name) ? "node" : "browser");
  const bytes = code.reduce((sum, text) => sum + gzipSync(text).length, 0);
  expect(bytes, `${name} is ${bytes} bytes`).toBeLessThan(BUDGETS[name]!);
  expect(bytes, `${name} is ${bytes} bytes: its budget can come down`).toBeGreaterThan(BUDGETS[name]! / 2);
});
