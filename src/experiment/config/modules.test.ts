import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { problemOf, projectOf, type Files } from "../../../tests/support/config-files.ts";
import { ConfigError } from "./config-error.ts";
import { isModuleSpecifier, loadExport } from "./modules.ts";

const FILES: Files = {
  "hooks.ts":
    "export class MyHook { readonly a: number = 1 }\nexport const factory = () => 5;\nexport default { name: 'd' };",
  "plain.mjs": "export const one = 1;",
  "common.cjs": "exports.two = 2;",
  "empty.mjs": "",
  "sub/inner.ts": "export { factory } from '../hooks.ts';",
  "data.json": "{}",
  "node_modules/own-pkg/package.json":
    '{ "name": "own-pkg", "type": "module", "exports": { ".": { "import": "./i.js" }, "./part": "./part.js" } }',
  "node_modules/own-pkg/i.js": "export const three = 3;",
  "node_modules/own-pkg/part.js": "export default 4;",
  "node_modules/own-pkg/hidden.js": "export default 4;",
  "node_modules/@scope/pkg/package.json": '{ "name": "@scope/pkg", "main": "./i.cjs" }',
  "node_modules/@scope/pkg/i.cjs": "exports.five = 5;",
};

const load = (specifier: string, directory = "", files = FILES): Promise<unknown> => {
  const project = projectOf(files);
  return loadExport(specifier, { directory: join(project, directory), project });
};

it.each([
  ["./hooks.ts#factory", "", expect.any(Function)],
  ["./hooks.ts", "", { name: "d" }],
  ["./hooks.ts#default", "", { name: "d" }],
  ["./plain.mjs#one", "", 1],
  ["./common.cjs#two", "", 2],
  ["../plain.mjs#one", "sub", 1],
  ["./inner.ts#factory", "sub", expect.any(Function)],
  ["own-pkg#three", "", 3],
  ["own-pkg#three", "sub", 3],
  ["own-pkg/part#default", "", 4],
  ["@scope/pkg#five", "", 5],
])("%s from /%s", async (specifier, directory, expected) => {
  expect(await load(specifier, directory)).toEqual(expected);
});

it.each([
  [
    "./hooks.ts#MyHok",
    "./hooks.ts has no export `MyHok`. Did you mean `MyHook`? It exports: MyHook, factory, default.",
  ],
  ["./plain.mjs", "no default export. It exports: one. Say which one: ./plain.mjs#Name"],
  ["./empty.mjs#x", "It exports nothing."],
  ["./hook.ts#MyHook", "There is no file ./hook.ts in "],
  ["./hook.ts#MyHook", "Did you mean `hooks.ts`?"],
  ["./hooks#MyHook", "Did you mean `hooks.ts`?"],
  ["./no/such/dir.ts#x", "There is no file ./no/such/dir.ts"],
  ["./data.json#x", "is no module"],
  ["./sub#x", "is no module"],
  ["no-such-pkg#x", "There is no package no-such-pkg"],
  ["own-pkg/hidden.js#default", "There is no package own-pkg/hidden.js"],
  ["hooks.ts#MyHook", "write ./hooks.ts"],
  ["own-pkg#thre", "Did you mean `three`?"],
  ["own-pkg", "own-pkg#default"],
  ["./hooks.ts#", "an export's name comes after the #"],
  ["./hooks.ts#a#b", "more than one #"],
  ["./hooks.ts#a-b", "an export's name comes after the #"],
])("%s: %s", async (specifier, says) => {
  expect((await problemOf(load(specifier))).message).toContain(says);
});

it("keeps what a module threw, and says where", async () => {
  const files = { "bad.ts": "const a: number = 1;\n\nthrow new RangeError(`no ${a}`);\n" };
  const error = await problemOf(load("./bad.ts#x", "", files));
  expect(error.message).toContain("./bad.ts threw on import: RangeError: no 1 (bad.ts:3:7)");
  expect(error.cause).toBeInstanceOf(RangeError);
});

it("makes its errors where the caller says", async () => {
  const project = projectOf(FILES);
  const fail = (message: string, cause?: unknown): ConfigError =>
    new ConfigError(message, ["hooks", 0], { file: "c.yaml", line: 3, column: 4 }, { cause });
  const error = await problemOf(loadExport("./hooks.ts#x", { directory: project, project, fail }));
  expect(error.message).toMatch(/^c\.yaml:3:4: hooks\.0: \.\/hooks\.ts has no export `x`/);
});

it("does not follow a link out of the project, but an installed package may be one", async () => {
  const outside = projectOf({ "evil.mjs": "export const x = 1;", "i.mjs": "export const y = 2;" });
  const project = projectOf({});
  symlinkSync(join(outside, "evil.mjs"), join(project, "link.mjs"));
  mkdirSync(join(project, "node_modules"));
  symlinkSync(
    projectOf({ "package.json": '{ "name": "linked", "exports": "./i.mjs" }', "i.mjs": "export const y = 2;" }),
    join(project, "node_modules/linked"),
  );
  const from = { directory: project, project };
  expect((await problemOf(loadExport("./link.mjs#x", from))).message).toContain("leaves the project");
  expect(await loadExport("linked#y", from)).toBe(2);
});

it("knows own components from built-in ones", () => {
  expect(["./a.ts", "../a.ts#B", "pkg#C", "@s/p#D", "file:///a", "..", "C:\\x"].every(isModuleSpecifier)).toBe(true);
  expect(["adamw", "earlyStopping", "my-name", "a b"].some(isModuleSpecifier)).toBe(false);
});
