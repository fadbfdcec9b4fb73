// Programs that tests start as processes, compiled before the tests by compile-programs.ts.
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./sources.ts";

export const PROGRAMS = join(root, "tests/.programs");

/** The compiled form of a program: `compiled(new URL("./train-child.ts", import.meta.url))`. */
export const compiled = (script: URL): string =>
  join(PROGRAMS, relative(root, fileURLToPath(script)).replace(/\.ts$/, ".js"));
