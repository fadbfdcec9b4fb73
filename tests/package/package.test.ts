// What is published: the files of the tarball and the names that each entry exports. Both are promises, so they are pinned.
import { execFile } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { EVENTS } from "../../src/core/events.ts";
import { VERSION } from "../../src/platform/platform.ts";
import { PIPELINE_EVENTS, TUNE_EVENTS } from "../../src/core/outer-events.ts";
import { installHookline, type Installed } from "../cli/installed.ts";
import { ENTRIES } from "../support/bundle.ts";
import { exportsOf, root } from "../support/sources.ts";

let installed: Installed;
beforeAll(async () => {
  installed = await installHookline();
  cpSync(join(root, "docs"), join(installed.package, "docs"), { recursive: true });
});
afterAll(() => installed.remove());

const run = async (command: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd: installed.package, maxBuffer: 1 << 24 })).stdout;

test("the tarball holds the compiled code and what a reader needs, nothing else", async () => {
  const [{ files, size, unpackedSize }] = JSON.parse(
    await run("npm", "pack", "--dry-run", "--json", "--ignore-scripts"),
  ) as [{ files: { path: string }[]; size: number; unpackedSize: number }];
  const paths = files.map(({ path }) => path);
  expect([...new Set(paths.map((path) => path.split("/")[0]!))].sort()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "dist",
    "docs",
    "package.json",
    "schema",
  ]);
  const isPage = (path: string): boolean => /^dist\/ui\/[\w-]+\.(js|css|html|svg|txt)$/.test(path);
  const others = paths.filter((path) => path.startsWith("dist/") && !/\.(js|d\.ts)$/.test(path) && !isPage(path));
  expect(others).toEqual([]);
  expect(paths.filter((path) => path.startsWith("docs/") && !/\.(md|svg|webp)$/.test(path))).toEqual([]);
  expect(paths.filter((path) => /test(-d)?\./.test(path))).toEqual([]);
  // Bytes to download, and on the disk: a fifth is declarations for TypeScript before 5.8, a seventh is guides, a tenth the dashboard.
  expect(size).toBeLessThan(2_000_000);
  expect(unpackedSize).toBeLessThan(8_000_000);
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) => path!);
  expect(links.filter((path) => !paths.includes(path))).toEqual([]);
});

test("each entry has declarations for new compilers and for old ones", () => {
  for (const [name, entry] of Object.entries(manifest.exports)) {
    if (typeof entry === "string") continue;
    expect(entry["types@<5.8"], name).toBe(entry.types.replace("./dist/", "./dist/types-5.6/"));
    expect(existsSync(join(installed.package, entry["types@<5.8"])), name).toBe(true);
  }
});

test("the version that checkpoints record is the package's", () => {
  expect(VERSION).toBe(manifest.version);
});

test("package.json exports the entries and no more", () => {
  const names = Object.keys(manifest.exports).map((path) => path.replace(/^\./, "hookline"));
  expect(names.sort()).toEqual([...Object.keys(ENTRIES), "hookline/package.json", "hookline/schema.json"].sort());
});

test("hookline/jax is jax-js itself, from the built package too: one copy of its arrays", async () => {
  const script = `const [ours, jax] = await Promise.all([import("hookline/jax"), import("@jax-js/jax")]);
    console.log(Object.keys(jax).every((name) => name === "default" || ours[name] === jax[name]), "numpy" in ours)`;
  expect(await run("node", "--input-type=module", "-e", script)).toBe("true true\n");
});

test("these are the events", () => {
  const levels = { ...EVENTS, ...PIPELINE_EVENTS, ...TUNE_EVENTS };
  const lines = Object.entries(levels).map(([event, { level }]) => `${event} (${level})`);
  expect(lines.join("\n")).toMatchSnapshot();
});

const own = Object.entries(ENTRIES).filter(([name]) => name !== "hookline/jax");

describe.each(own)("%s", (name, barrel) => {
  test("exports these names, types included", () => {
    expect(exportsOf(barrel).sort().join("\n")).toMatchSnapshot();
  });

  test("loads in plain Node from the built package", async () => {
    const script = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(name)}))))`;
    const values = JSON.parse(await run("node", "--input-type=module", "-e", script)) as string[];
    expect(values.length).toBeGreaterThan(0);
    expect(exportsOf(barrel)).toEqual(expect.arrayContaining(values));
  });
});
