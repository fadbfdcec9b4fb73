// What a browser would download: nothing of Node's, and not more than its budget.
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { bundle, ENTRIES } from "../support/bundle.ts";

/** Bytes after minify and gzip, without jax-js: about 15 % above what it was when last looked at. */
const BUDGETS: Readonly<Record<string, number>> = {
  hookline: 64_800,
  "hookline/nn": 8_300,
  "hookline/optim": 5_600,
  "hookline/data": 9_400,
  "hookline/checkpoint": 28_100,
  "hookline/testing": 51_800,
};

describe.each(Object.keys(ENTRIES))("%s", (name) => {
  test("bundles for a browser and imports only jax-js", async () => {
    const { meta } = await bundle({ source: `export * from "${name}"` }, { jax: false });
    const imports = Object.values(meta.outputs).flatMap((output) => output.imports.map(({ path }) => path));
    expect(imports.filter((path) => path !== "@jax-js/jax")).toEqual([]);
    expect(Object.keys(meta.inputs).filter((file) => file.includes("node_modules"))).toEqual([]);
  });

  test("stays within its budget", async () => {
    const { code } = await bundle({ source: `export * from "${name}"` }, { jax: false, minify: true });
    const bytes = gzipSync(code).length;
    expect(bytes, `${name} is ${bytes} bytes`).toBeLessThan(BUDGETS[name]!);
    expect(bytes, `${name} is ${bytes} bytes: its budget can come down`).toBeGreaterThan(BUDGETS[name]! / 2);
  });
});
