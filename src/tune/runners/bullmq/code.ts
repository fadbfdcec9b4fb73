// Which code a process runs: workers whose trials would be others than the study's are refused.
import { failWithoutPlace } from "../../../experiment/config/fail.ts";
import { parseSpecifier } from "../../../experiment/config/specifier.ts";
import { builtin } from "../../../platform/builtin.ts";
import { sweepModules } from "../../sweep/sweep-modules.ts";
import { sweepOf } from "../sweep-of.ts";

type Fs = ReturnType<typeof process.getBuiltinModule<"node:fs">>;
type Crypto = ReturnType<typeof process.getBuiltinModule<"node:crypto">>;
type Module = ReturnType<typeof process.getBuiltinModule<"node:module">>;
type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

const OWNER = "bullmq";

export interface Code {
  readonly hookline: string;
  /** Of the modules of trial and hooks, and what they import from beside them. */
  readonly trial: string;
}

/** `from "./x.ts"`, `import "./x.ts"`, `import("./x.ts")`, `require("./x")`. */
const RELATIVE_IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(["'])(\.{1,2}\/[^"'\n]+)\1/g;
const ENDINGS = ["", ".ts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js"];

/** @param modules of the trial and of hooks, as they are named */
export function codeOf(modules: readonly string[], directory: string): Code {
  const fs = builtin<Fs>(OWNER, "node:fs");
  const { createHash } = builtin<Crypto>(OWNER, "node:crypto");
  const hash = createHash("sha256");
  for (const file of filesOf(modules, directory)) hash.update(fs.readFileSync(file)).update("\0");
  // The source and what is compiled from it lie equally deep.
  const manifest = fs.readFileSync(new URL("../../../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  return { hookline: version, trial: hash.digest("hex").slice(0, 12) };
}

/** The modules' files and those they import by their paths, in the order in which they are met. */
function filesOf(modules: readonly string[], directory: string): ReadonlySet<string> {
  const { resolve } = builtin<Paths>(OWNER, "node:path");
  const { readFileSync } = builtin<Fs>(OWNER, "node:fs");
  const named = modules.flatMap((module) => {
    const dir = sweepOf(module);
    return dir === undefined ? [moduleFile(module, directory)] : [module, ...sweepModules(dir)];
  });
  // One that is not there has its error when the trial is loaded, with the right words.
  const files = new Set(named.filter(isFile));
  for (const file of files) {
    for (const [, , path] of readFileSync(file, "utf8").matchAll(RELATIVE_IMPORT)) {
      const beside = resolve(file, "..", path!);
      const found = [...ENDINGS.map((ending) => beside + ending), beside.replace(/\.js$/, ".ts")].find(isFile);
      if (found !== undefined) files.add(found);
    }
  }
  return files;
}

function moduleFile(name: string, directory: string): string {
  const { kind, module } = parseSpecifier(name, failWithoutPlace);
  const { resolve } = builtin<Paths>(OWNER, "node:path");
  return kind === "file" ? resolve(directory, module) : packageFile(module, directory);
}

/** Of a package that only `import` finds it is not known: its version is its lock file's affair. */
function packageFile(name: string, directory: string): string {
  const { createRequire } = builtin<Module>(OWNER, "node:module");
  try {
    return createRequire(`${directory}/code.js`).resolve(name);
  } catch {
    return "";
  }
}

const isFile = (path: string): boolean =>
  builtin<Fs>(OWNER, "node:fs").statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const show = ({ hookline, trial }: Code): string => `hookline ${hookline} with trial code ${trial}`;

/** What is different, or undefined. */
export function otherCode(study: Code, here: Code): string | undefined {
  if (study.hookline === here.hookline && study.trial === here.trial) return undefined;
  return `the study runs ${show(study)}, this worker ${show(here)}`;
}
