// The first minutes of a new user: the package as it is published, in an empty directory, to a trained model and a test that passes.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { specifierFor } from "../../src/cli/lib/origin.ts";
import { root } from "../support/sources.ts";
import { installHookline, type Installed } from "./installed.ts";

const QUIET = ["--prefer-offline", "--no-audit", "--no-fund"];
const home = realpathSync(mkdtempSync(join(tmpdir(), "hookline-starter-")));
const demo = join(home, "demo");
let installed: Installed;

const run = async (cwd: string, command: string, ...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd, maxBuffer: 1 << 24, timeout: 120_000 })).stdout;

beforeAll(async () => {
  installed = await installHookline();
  const [{ filename }] = JSON.parse(
    await run(installed.package, "npm", "pack", "--json", "--pack-destination", home),
  ) as [{ filename: string }];
  mkdirSync(join(home, "start"));
  // As npx does it with a package that is not there yet: into a place of its own.
  await run(join(home, "start"), "npm", "install", ...QUIET, "--prefix", ".", join(home, filename));
}, 180_000);
afterAll(() => {
  installed.remove();
  rmSync(home, { recursive: true, force: true });
}, 60_000);

describe("from the packed tarball", () => {
  test("hookline init demo && cd demo && npm i && npx hookline train", { timeout: 180_000 }, async () => {
    await run(home, join(home, "start/node_modules/.bin/hookline"), "init", "demo");
    const manifest = JSON.parse(readFileSync(join(demo, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    expect(manifest.dependencies.hookline).toMatch(/^file:\.\.\/hookline-.*\.tgz$/);
    await run(demo, "npm", "install", ...QUIET);
    const result = JSON.parse(await run(demo, "npx", "hookline", "train", "--json")) as {
      models: { model: { results: Record<string, number> } };
    };
    expect(result.models.model.results["test/accuracy"]).toBeGreaterThan(0.9);
    expect(await run(demo, "npx", "hookline", "runs")).toContain("spirals");
  });

  test(
    "the project's own test passes, its types are right, and its editor finds the schema",
    { timeout: 120_000 },
    async () => {
      expect(await run(demo, "npm", "test")).toMatch(/^# pass 4$/m);
      expect(await run(demo, "npm", "run", "check")).not.toContain("error");
      const [, schema] = /^# yaml-language-server: \$schema=(.*)$/m.exec(
        readFileSync(join(demo, "hookline.yaml"), "utf8"),
      )!;
      expect(existsSync(join(demo, schema!))).toBe(true);
    },
  );

  test("what is written is what is told", () => {
    expect(
      readdirSync(demo)
        .filter((name) => !["node_modules", "runs", "package-lock.json"].includes(name))
        .sort(),
    ).toEqual([".gitignore", "README.md", "data.ts", "hookline.yaml", "hooks", "package.json", "tsconfig.json"]);
  });
});

describe("where npm finds this copy again", () => {
  const own = (): string => join(installed.package, "..");
  test("a checkout: by its path", () => {
    expect(specifierFor("/projects/demo", root.replace(/\/$/, ""))).toMatch(/^file:\.\.\/\.\.\//);
  });

  test("an installation that no lock file tells of: by its version", () => {
    expect(specifierFor("/projects/demo", join(own(), "hookline"))).toMatch(/^\^\d+\.\d+\.\d+/);
  });

  test("a tarball: by its path, from the project", () => {
    expect(specifierFor(demo, join(home, "start/node_modules/hookline"))).toMatch(/^file:\.\.\/hookline-.*\.tgz$/);
  });
});
