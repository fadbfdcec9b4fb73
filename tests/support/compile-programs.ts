// Before the tests: compiles the programs that tests start as processes, since they start hundreds.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { compileInto } from "./compile.ts";
import { PROGRAMS_VARIABLE } from "./programs.ts";
import { root } from "./sources.ts";

/** Each run of the tests has a folder of its own, so that two of them do not disturb each other. */
export default function compilePrograms(): () => void {
  const folder = join(root, "tests/.programs", String(process.pid));
  compileInto(folder, ["tests"]);
  process.env[PROGRAMS_VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
