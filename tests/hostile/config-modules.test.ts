// Own modules as a user has them: the compiled package in a project's node_modules, plain Node, no loader around it.
// A module that imports hookline or jax-js must get the very ones that run.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, symlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root as repository } from "../support/sources.ts";
import { write, type Files } from "../support/config-files.ts";

const run = promisify(execFile);
const PARSERS = ["yaml", "smol-toml", "jiti"];
let root: string;

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

/** The package and what it needs. */
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "hookline-modules-")));
  const hookline = join(root, "store/node_modules/hookline");
  const tsc = join(repository, "node_modules/typescript/bin/tsc");
  // Types are checked elsewhere.
  const how = ["--noCheck", "--declaration", "false", "--outDir", join(hookline, "dist")];
  await run(process.execPath, [tsc, "-p", join(repository, "tsconfig.build.json"), ...how]);
  cpSync(join(repository, "package.json"), join(hookline, "package.json"));
  for (const name of ["@jax-js/jax", ...PARSERS])
    link(join(repository, "node_modules", name), join(root, "store/node_modules", name));
});

afterAll(() => rm(root, { recursive: true, force: true }));

/** A project with hookline linked or copied into it. */
function project(name: string, how: "linked" | "copied", files: Files, without: readonly string[] = []): string {
  const dir = join(root, name);
  const modules = join(dir, "node_modules");
  write(dir, { "package.json": '{ "type": "module" }', ...files });
  const store = join(root, "store/node_modules");
  if (how === "linked") link(join(store, "hookline"), join(modules, "hookline"));
  else cpSync(join(store, "hookline"), join(modules, "hookline"), { recursive: true });
  for (const each of ["@jax-js/jax", ...PARSERS].filter((one) => !without.includes(one)))
    link(realpathSync(join(store, each)), join(modules, each));
  return dir;
}

/** Runs a program in the project and gives the last line that it prints, as JSON. */
async function result(dir: string, program: string, from = dir): Promise<unknown> {
  const setup = `
    const at = (file) => import(new URL("experiment/config/" + file, import.meta.resolve("hookline")));
    const { loadExport } = await at("modules.js");
    const { readConfig } = await at("read-config.js");
    const { ConfigError } = await at("config-error.js");
    const messageOf = (promise) => promise.then(() => "no error", (error) => error instanceof ConfigError ? error.message : "another error: " + error.stack);
    const from = { directory: ${JSON.stringify(dir)}, project: ${JSON.stringify(dir)} };
  `;
  write(from, { "program.mjs": `${setup}\n${program}` });
  const { stdout } = await run(process.execPath, [join(from, "program.mjs")], { cwd: dir });
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

const OWN: Files = {
  "hooks.ts": `
import { HooklineError, type Hook } from "hookline";
import * as jax from "@jax-js/jax";
import { Level } from "./level.ts";
export class OwnError extends HooklineError {}
export class Count implements Hook {
  readonly name: string = "count";
  level: Level = Level.High;
  steps = 0;
  onStepEnd(): void { this.steps += this.level }
}
export const numpy = jax.numpy;
export const model = {
  params: { w: { data: new Float32Array(3), shape: [3, 1] } },
  loss: (params: { w: jax.Array }, batch: { x: jax.Array; y: jax.Array }) =>
    jax.numpy.mean(jax.numpy.square(jax.numpy.dot(batch.x, params.w).sub(batch.y))),
};
`,
  // What only a compiler can read, and types alone do not cover.
  "level.ts": "export enum Level { Low, High }",
  "plain.mjs": 'export { HooklineError } from "hookline"; export { numpy } from "@jax-js/jax";',
};

const SAME = `
  import { HooklineError } from "hookline";
  import { tinyTrainer } from "hookline/testing";
  import * as jax from "@jax-js/jax";
  const load = (name) => loadExport(name, from);
  const OwnError = await load("./hooks.ts#OwnError");
  const Count = await load("./hooks.ts#Count");
  const count = new Count();
  const trainer = tinyTrainer({ model: await load("./hooks.ts#model"), loss: undefined, hooks: [count], epochs: 2 });
  const { status } = await trainer.fit();
  console.log(JSON.stringify({
    status,
    steps: count.steps,
    errors: new OwnError("x") instanceof HooklineError,
    numpy: (await load("./hooks.ts#numpy")) === jax.numpy,
    plain: (await load("./plain.mjs#HooklineError")) === HooklineError && (await load("./plain.mjs#numpy")) === jax.numpy,
    again: (await load("./hooks.ts#Count")) === Count,
    wasm: jax.defaultDevice(),
  }));
`;

describe.each(["linked", "copied"] as const)("hookline %s into a project", (how) => {
  it("is the one that its modules import, and so is jax-js", async () => {
    const dir = project(`same-${how}`, how, OWN);
    const before = readdirSync(dir).sort();
    expect(await result(dir, SAME)).toEqual({
      status: "completed",
      steps: 8,
      errors: true,
      numpy: true,
      plain: true,
      again: true,
      wasm: "wasm",
    });
    expect(readdirSync(dir).sort()).toEqual([...before, "program.mjs"].sort());
    expect(readdirSync(join(dir, "node_modules")).sort()).toEqual(["@jax-js", "hookline", ...PARSERS].sort());
  });
});

it("is an error when a module would import another copy", async () => {
  const ours = project("ours", "linked", {});
  const theirs = project("theirs", "copied", OWN);
  const program = `console.log(JSON.stringify(await messageOf(loadExport("./hooks.ts#Count", from))))`;
  const message = await result(theirs, program, ours);
  expect(message).toContain(`another copy of hookline (${theirs}/node_modules/hookline, `);
  expect(message).toContain(`than the one that runs (${root}/store/node_modules/hookline, `);
  expect(message).toContain("npx hookline");
});

it("says where a module is broken", async () => {
  const dir = project("broken", "linked", {
    "syntax.ts": "export const a: number = 1;\nexport const b: = 2;\n",
    "syntax.mjs": "export const a = 1;\n\n  let b = ;\n",
    "throws.ts": "interface A { b: number }\n\nconst a = undefined as A | undefined;\nexport const c = a!.b;\n",
    "throws.mjs": "\nexport const c = null.x;\n",
    "deep.ts": 'import "./throws.mjs";\nexport const c = 1;\n',
    "missing.ts": 'import "./nope.ts";\nexport const c = 1;\n',
    "wrong.mjs": 'import { nope } from "hookline";\nexport const c = nope;\n',
    "c.yaml": "a: 1",
    "bad.config.ts": "export default {\n  a: 1,,\n};\n",
    "good.config.ts": "interface C { a: number }\nexport default (): C => ({ a: 1 as number });\n",
  });
  const names = ["syntax.ts", "syntax.mjs", "throws.ts", "throws.mjs", "deep.ts", "missing.ts", "wrong.mjs"];
  const program = `
    const messages = [];
    for (const name of ${JSON.stringify(names)}) messages.push(await messageOf(loadExport("./" + name + "#c", from)));
    messages.push(await messageOf(readConfig("bad.config.ts")));
    messages.push(JSON.stringify((await readConfig("good.config.ts", { set: ["b=2"] })).value));
    console.log(JSON.stringify(messages));
  `;
  const messages = (await result(dir, program)) as string[];
  expect(messages[0]).toBe("./syntax.ts:2:17 cannot be read: Unexpected token.");
  expect(messages[1]).toBe("./syntax.mjs:3:11 cannot be read: Unexpected token.");
  expect(messages[2]).toMatch(/^\.\/throws\.ts threw on import: TypeError: .* \(throws\.ts:4:\d+\)$/);
  expect(messages[3]).toMatch(/^\.\/throws\.mjs threw on import: TypeError: .* \(throws\.mjs:2:\d+\)$/);
  expect(messages[4]).toMatch(/^\.\/deep\.ts threw on import: TypeError: .* \(throws\.mjs:2:\d+\)$/);
  expect(messages[5]).toMatch(/^\.\/missing\.ts imports a module that does not exist: .*nope\.ts/);
  expect(messages[6]).toMatch(/^\.\/wrong\.mjs .*does not provide an export named 'nope'/);
  expect(messages[7]).toMatch(/^bad\.config\.ts:2:8 cannot be read: /);
  expect(messages[8]).toBe('{"a":1,"b":2}');
});

it("loads a parser only for a file of its format", async () => {
  const files = {
    "c.json": '{ "a": "${A}" }',
    "c.mjs": "export default { a: 1 }",
    "c.yaml": "a: 1",
    "c.toml": "a = 1",
    "own.mjs": "export const x = 1;",
  };
  const dir = project("lean", "copied", files, PARSERS);
  const program = `
    const read = (file) => readConfig(file, { env: { A: "1" } }).then((doc) => doc.value.a, (error) => error.code);
    const own = await loadExport("./own.mjs#x", from);
    console.log(JSON.stringify([await read("c.json"), await read("c.mjs"), own, await read("c.yaml"), await read("c.toml")]));
  `;
  expect(await result(dir, program)).toEqual([1, 1, 1, "ERR_MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"]);
});
