// Before the tests: compiles src/ and the programs that tests start as processes. They start in a fifth of the time that
// tsx takes, and the tests start hundreds.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAMS_VARIABLE } from "./programs.ts";
import { root } from "./sources.ts";

const CONFIG = {
  extends: "../../../tsconfig.json",
  compilerOptions: { noEmit: false, noCheck: true, outDir: ".", rootDir: "../../..", paths: {} },
  include: ["../../../src", "../../../tests"],
  exclude: ["../../../**/*.test.ts", "../../../**/*.test-d.ts", "../../../tests/.*"],
};

/** The folder is a package called hookline, so that programs in it import what was compiled with them. */
const EXPORTS = { ".": "./src/index.js", "./*": "./src/*/index.js" };

/** Each run of the tests has a folder of its own, so that two of them do not disturb each other. */
export default function compilePrograms(): () => void {
  const folder = join(root, "tests/.programs", String(process.pid));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder], { stdio: "inherit" });
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as object;
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...own, exports: EXPORTS }));
  process.env[PROGRAMS_VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
