// The declarations in the package as users compile them: without `skipLibCheck`, and without the types of Node or the DOM.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installHookline, type Installed } from "../cli/installed.ts";
import { ENTRIES } from "../support/bundle.ts";
import { importsOf, root } from "../support/sources.ts";

let installed: Installed;
beforeAll(async () => void (installed = await installHookline()));
afterAll(() => installed.remove());

const PROGRAM = `import { Trainer, type RunResult } from "hookline";
import { DataLoader } from "hookline/data";
import { linear, mse } from "hookline/nn";
import { sgd } from "hookline/optim";
${Object.keys(ENTRIES)
  .map((name, i) => `export * as entry${i} from ${JSON.stringify(name)};`)
  .join("\n")}
const x = { data: new Float32Array(8), shape: [4, 2] };
const train = new DataLoader({ x, y: { data: new Float32Array(4), shape: [4, 1] } }, { batchSize: 2 });
const trainer = new Trainer({ model: linear(2, 1), loss: mse(), optimizer: sgd({ lr: 0.1 }), train, epochs: 1 });
export const result: Promise<RunResult> = trainer.fit();
`;

/** The folder that each compiler is installed for. The last is this repository's own. */
const COMPILERS = {
  "5.6": "tests/package/compilers/typescript-5.6",
  "5.9": "tests/package/compilers/typescript-5.9",
  "6.0": "typedoc",
  "7.0": ".",
};

/** What a user changes in the settings of `tsc --init`: the first does nothing but check the declarations. */
const CONFIGS: Readonly<Record<string, object>> = {
  "tsc --init": {},
  "a bundler": { module: "esnext", moduleResolution: "bundler", target: "es2022", lib: ["es2022", "dom"] },
  "es2022 without the DOM": { module: "nodenext", moduleResolution: "nodenext", target: "es2022", lib: ["es2022"] },
};

function compile(tsc: string, cwd: string, ...args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, ...args], { cwd, encoding: "utf8" });
  return stdout + stderr;
}

describe.each(Object.entries(COMPILERS))("TypeScript %s", (version, from) => {
  const found = createRequire(join(root, from, "package.json")).resolve("typescript/package.json");
  const tsc = join(dirname(found), "bin/tsc");

  test("is installed", () => {
    const installed = JSON.parse(readFileSync(found, "utf8")) as { version: string };
    expect(installed.version, "npm install brings the compilers of these tests").toMatch(`${version}.`);
  });

  // What the oldest and the newest of them accept in every setting, those between accept too.
  const configs = ["5.6", "7.0"].includes(version) ? CONFIGS : { "tsc --init": {} };
  test.each(Object.entries(configs))("%s", (_, options) => {
    const dir = installed.project({ "program.ts": PROGRAM });
    compile(tsc, dir, "--init");
    const compilerOptions = { ...options, skipLibCheck: false, noEmit: true };
    const config = { extends: "./tsconfig.json", compilerOptions, files: ["program.ts"] };
    writeFileSync(join(dir, "tsconfig.check.json"), JSON.stringify(config));
    expect(compile(tsc, dir, "-p", "tsconfig.check.json")).toBe("");
  });
});

test("what TypeScript 5.6 makes of it, with require(), trains in Node", () => {
  const dir = installed.project({ "program.ts": `${PROGRAM}result.then(({ status }) => console.log(status));` });
  const tsc = join(root, COMPILERS["5.6"], "node_modules/typescript/bin/tsc");
  writeFileSync(join(dir, "package.json"), "{}");
  compile(tsc, dir, "--init");
  expect(compile(tsc, dir)).toBe("");
  expect(readFileSync(join(dir, "program.js"), "utf8")).toContain('require("hookline")');
  expect(execFileSync(process.execPath, ["program.js"], { cwd: dir, encoding: "utf8" })).toBe("completed\n");
});

test.each(Object.entries(ENTRIES))("%s brings the names that its declarations need", (_, barrel) => {
  expect(importsOf(barrel).map(({ from }) => from)).toContain("src/core/ambient.ts");
});

test("a browser's worker holds no native, XLA, MPI or BullMQ code, and stays within its budget", async () => {
  const all = `${PROGRAM}result.then(postMessage);`;
  const dir = installed.project({ "all.ts": all, "trainer.ts": all.replaceAll(/^export \* as .*$/gm, "") });
  const { metafile } = await build({
    entryPoints: [join(dir, "all.ts"), join(dir, "trainer.ts")],
    outdir: dir,
    write: false,
    bundle: true,
    minify: true,
    metafile: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    // Parsers of config files, which are read in Node.
    external: ["yaml", "smol-toml", "jiti", "node:*"],
  });
  const outputs = Object.values(metafile.outputs);
  const held = outputs.flatMap(({ inputs }) => Object.keys(inputs).filter((file) => inputs[file]!.bytesInOutput > 100));
  expect(
    held.filter((file) => /native-engine|node-gpu|xla-engine|distributed\/mpi|libmpi|bullmq\/(?!.*\.ts)/.test(file)),
  ).toEqual([]);
  // In one file, as Vite's workers are unless `worker.format` is "es". jax-js is half of it.
  const trainer = outputs.find(({ entryPoint }) => entryPoint?.endsWith("trainer.ts"))!;
  expect(trainer.bytes, `${trainer.bytes} bytes`).toBeLessThan(700_000);
});
