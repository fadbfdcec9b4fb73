// The programs of the benchmarks as a user's package is: compiled, once for each process that asks.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileInto } from "../../tests/support/compile.ts";

const FOLDER = fileURLToPath(new URL("../.compiled", import.meta.url));
let isCompiled = false;

/** A program of this folder by its name. */
export function compiledProgram(name: string): string {
  if (!isCompiled) compileInto(FOLDER, ["bench"]);
  isCompiled = true;
  return join(FOLDER, `bench/lib/${name}.js`);
}
