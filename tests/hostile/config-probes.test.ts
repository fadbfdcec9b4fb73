// Attempts to reach JavaScript's own objects, or files outside the project, through a config: each one is refused with an
// error of ours at the right place, nothing is changed and nothing is created.
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadExport } from "../../src/experiment/config/modules.ts";
import { insideProject } from "../../src/experiment/config/project.ts";
import { readConfig } from "../../src/experiment/config/read-config.ts";
import { problemOf, projectOf, write } from "../support/config-files.ts";
import { marked } from "./config-marked.ts";
import { BAD_MODULES, BAD_PATHS } from "./config-paths-cases.ts";
import { POLLUTION } from "./config-pollution-cases.ts";

const FORMATS = {
  "c.yaml": (path: string) => `a: 1\nextends: ▸${JSON.stringify(path)}\n`,
  "c.json": (path: string) => `{ "a": 1,\n  "extends": ▸${JSON.stringify(path)} }`,
  "c.toml": (path: string) => `a = 1\nextends = ▸${JSON.stringify(path)}\n`,
};

it("has at least 400 probes", () => {
  const paths = BAD_PATHS.length * (1 + Object.keys(FORMATS).length) + BAD_MODULES.length;
  expect(new Set(POLLUTION.map((each) => JSON.stringify(each))).size).toBe(POLLUTION.length);
  expect(POLLUTION.length).toBeGreaterThan(250);
  expect(POLLUTION.length + paths).toBeGreaterThanOrEqual(400);
});

const prototypes = [Object.prototype, Function.prototype, Array.prototype, Map.prototype];
const names = (): string[][] => prototypes.map((each) => Reflect.ownKeys(each).map(String));
const before = names();

const expectClean = (): void => {
  expect(names()).toEqual(before);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
};

describe("pollution", () => {
  it.each(POLLUTION.map((each) => ({ ...each, label: JSON.stringify(each.set ?? each.text) })))(
    "$file $label",
    async ({ file, text, set, names: shown = file }) => {
      const hasMark = text.includes("▸");
      const { text: clean, position } = hasMark ? marked(text) : { text, position: {} };
      const cwd = projectOf({ [file]: clean, "base.yaml": "a: 1" });
      const error = await problemOf(readConfig(file, { cwd, set, env: {} }));
      expect(error.message).toMatch(/cannot be a key|cannot be the name|Merge keys|Expected a key/);
      expect(error.position).toEqual({ file: shown, ...position });
      expect(readdirSync(cwd).sort()).toEqual(["base.yaml", file, "package.json"].sort());
      expectClean();
    },
  );
});

describe("paths", () => {
  let root: string;
  let project: string;
  let outside: string;
  const listing = (): string[] => readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
  let atFirst: string[];

  beforeAll(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "hookline-paths-")));
    project = join(root, "project");
    outside = join(root, "outside");
    const loud = "globalThis.reached = true; export const x = 1; export default {};";
    write(root, {
      "project/package.json": '{ "type": "module", "imports": { "#internal": "./ok.mjs" } }',
      "project/ok.mjs": "export const x = 1;",
      "project/sub/ok.mjs": "export const x = 1;",
      "outside/evil.mjs": loud,
      "x.mjs": loud,
    });
    symlinkSync(outside, join(project, "link"));
    symlinkSync(join(outside, "evil.mjs"), join(project, "link.mjs"));
    symlinkSync(join(outside, "not-there.mjs"), join(project, "dangling.mjs"));
    symlinkSync("loop.mjs", join(project, "loop.mjs"));
    symlinkSync("../link", join(project, "sub/link"));
    mkdirSync(join(project, "a"));
    atFirst = listing();
  });

  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const real = (path: string): string => path.replace("@outside", outside);

  it.each(BAD_MODULES.map((name) => [JSON.stringify(name), name]))("module %s", async (_, name) => {
    const error = await problemOf(loadExport(real(name), { directory: project, project }));
    expect(error.message).toMatch(
      /^Expected `\.\/file\.ts#Export` or|leaves the project|link to nothing|looked up|no package link/,
    );
  });

  it.each(BAD_PATHS.map((path) => [JSON.stringify(path), path]))("path %s", async (_, path) => {
    const error = await problemOf(Promise.resolve().then(() => insideProject(project, real(path))));
    expect(error.message).toMatch(/leaves the project|Expected a path in the project|link to nothing|looked up/);
  });

  describe.each(Object.entries(FORMATS))("extends in %s", (file, textOf) => {
    it.each(BAD_PATHS.map((path) => [JSON.stringify(path), path]))("%s", async (_, path) => {
      const { text, position } = marked(textOf(real(path)));
      write(project, { [file]: text });
      const error = await problemOf(readConfig(file, { cwd: project, env: {} })).finally(() =>
        rmSync(join(project, file)),
      );
      expect(error.path).toBe("extends");
      expect(error.position).toEqual({ file, ...position });
      expect(error.message).toMatch(/leaves the project|Expected (a|the) path|absolute|link to nothing|looked up/);
    });
  });

  it("have run nothing and created nothing", () => {
    expect(listing()).toEqual(atFirst);
    expect((globalThis as { reached?: boolean }).reached).toBeUndefined();
    expectClean();
  });
});
