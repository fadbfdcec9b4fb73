// The code of a study's trials, as a digest: a worker takes trials only of a study with the same code.
import { failWithoutPlace } from "../../../experiment/config/config-error.ts";
import { parseSpecifier } from "../../../experiment/config/modules.ts";
import { builtin } from "../../../platform/builtin.ts";
import { sweepModules, sweepOf } from "../../sweep/sweep-record.ts";

const OWNER = "bullmq";

export interface Code {
  /** The version of hookline. */
  readonly hookline: string;
  /** A hash of the modules of trial and hooks, and of what they import by relative paths. */
  readonly trial: string;
}

/** How the code of a study and a worker differ, or undefined. */
export function codeDifference(study: Code, here: Code): string | undefined {
  if (study.hookline === here.hookline && study.trial === here.trial) return undefined;
  const show = ({ hookline, trial }: Code): string => `hookline ${hookline} with trial code ${trial}`;
  return `the study runs ${show(study)}, this worker ${show(here)}`;
}

/** `from "./x.ts"`, `import "./x.ts"`, `import("./x.ts")`, `require("./x")`. */
const RELATIVE_IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(["'])(\.{1,2}\/[^"'\n]+)\1/g;
const ENDINGS = ["", ".ts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js"];

/** @param modules of the trial and of hooks, as they are named */
export function codeOf(modules: readonly string[], directory: string): Code {
  const { readFileSync } = builtin(OWNER, "node:fs");
  const hash = builtin(OWNER, "node:crypto").createHash("sha256");
  for (const file of filesOf(modules, directory)) hash.update(readFileSync(file)).update("\0");
  // Sources and compiled files are equally deep.
  const manifest = readFileSync(new URL("../../../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  return { hookline: version, trial: hash.digest("hex").slice(0, 12) };
}

/** The modules' files and those that they import by relative paths, in the order of the imports. */
function filesOf(modules: readonly string[], directory: string): ReadonlySet<string> {
  const { resolve } = builtin(OWNER, "node:path");
  const { readFileSync } = builtin(OWNER, "node:fs");
  const named = modules.flatMap((module) => {
    const dir = sweepOf(module);
    return dir === undefined ? [moduleFile(module, directory)] : [module, ...sweepModules(dir)];
  });
  // A missing file is an error when the trial is loaded, with a better message.
  const files = new Set(named.filter(isFile));
  for (const file of files) {
    for (const [, , path] of readFileSync(file, "utf8").matchAll(RELATIVE_IMPORT)) {
      const imported = resolve(file, "..", path!);
      const found = [...ENDINGS.map((ending) => imported + ending), imported.replace(/\.js$/, ".ts")].find(isFile);
      if (found !== undefined) files.add(found);
    }
  }
  return files;
}

function moduleFile(name: string, directory: string): string {
  const { kind, module } = parseSpecifier(name, failWithoutPlace);
  if (kind === "file") return builtin(OWNER, "node:path").resolve(directory, module);
  try {
    return builtin(OWNER, "node:module").createRequire(`${directory}/code.js`).resolve(module);
  } catch {
    // Only `import` finds this package. Its version is left to the lock file.
    return "";
  }
}

const isFile = (path: string): boolean =>
  builtin(OWNER, "node:fs").statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
