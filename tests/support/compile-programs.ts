// Before the tests: compiles src/ and the programs that tests start as processes. They start in a fifth of the time that
// tsx takes, and the tests start hundreds.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAMS } from "./programs.ts";
import { root } from "./sources.ts";

const CONFIG = {
  extends: "../../tsconfig.json",
  compilerOptions: { noEmit: false, noCheck: true, outDir: ".", rootDir: "../..", paths: {} },
  include: ["../../src", "../../tests"],
  exclude: ["../../**/*.test.ts", "../../**/*.test-d.ts", "../../tests/.*"],
};

/** The folder is a package called hookline, so that programs in it import what was compiled with them. */
const EXPORTS = { ".": "./src/index.js", "./*": "./src/*/index.js" };

export default function compilePrograms(): void {
  mkdirSync(PROGRAMS, { recursive: true });
  writeFileSync(join(PROGRAMS, "tsconfig.json"), JSON.stringify(CONFIG));
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", PROGRAMS], { stdio: "inherit" });
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as object;
  writeFileSync(join(PROGRAMS, "package.json"), JSON.stringify({ ...own, exports: EXPORTS }));
}
