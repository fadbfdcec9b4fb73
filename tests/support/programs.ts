// Programs that tests start as processes, compiled before the tests by compile-programs.ts.
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./sources.ts";

/** The environment variable with their folder. Not HOOKLINE_…: `hookline launch` passes those on. */
export const PROGRAMS_VARIABLE = "TEST_PROGRAMS";

/** The compiled form of a program: `compiled(new URL("./train-child.ts", import.meta.url))`. */
export const compiled = (script: URL): string =>
  join(process.env[PROGRAMS_VARIABLE]!, relative(root, fileURLToPath(script)).replace(/\.ts$/, ".js"));
