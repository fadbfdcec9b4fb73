// Which code a process runs: workers whose trials would be others than the study's are refused.
import { failWithoutPlace } from "../../../experiment/config/fail.ts";
import { parseSpecifier } from "../../../experiment/config/specifier.ts";
import { builtin, type Builtin } from "../../../platform/builtin.ts";
import { sweepModules } from "../../sweep/sweep-record.ts";
import { sweepOf } from "../load-trial.ts";
import { insideProject, projectOf } from "../../../experiment/config/project.ts";
import { trialDirectory } from "../../../runs/layout.ts";
import type { TrialJob } from "../runner.ts";
import type { Claim } from "./claim.ts";

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
  const fs = builtin(OWNER, "node:fs");
  const { createHash } = builtin(OWNER, "node:crypto");
  const hash = createHash("sha256");
  for (const file of filesOf(modules, directory)) hash.update(fs.readFileSync(file)).update("\0");
  // The source and what is compiled from it lie equally deep.
  const manifest = fs.readFileSync(new URL("../../../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  return { hookline: version, trial: hash.digest("hex").slice(0, 12) };
}

/** The modules' files and those they import by their paths, in the order in which they are met. */
function filesOf(modules: readonly string[], directory: string): ReadonlySet<string> {
  const { resolve } = builtin(OWNER, "node:path");
  const { readFileSync } = builtin(OWNER, "node:fs");
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
  const { resolve } = builtin(OWNER, "node:path");
  return kind === "file" ? resolve(directory, module) : packageFile(module, directory);
}

/** Of a package that only `import` finds it is not known: its version is its lock file's affair. */
function packageFile(name: string, directory: string): string {
  const { createRequire } = builtin(OWNER, "node:module");
  try {
    return createRequire(`${directory}/code.js`).resolve(name);
  } catch {
    return "";
  }
}

const isFile = (path: string): boolean =>
  builtin(OWNER, "node:fs").statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const show = ({ hookline, trial }: Code): string => `hookline ${hookline} with trial code ${trial}`;

/** What is different, or undefined. */
export function otherCode(study: Code, here: Code): string | undefined {
  if (study.hookline === here.hookline && study.trial === here.trial) return undefined;
  return `the study runs ${show(study)}, this worker ${show(here)}`;
}

// What a worker may run. A claim in Redis names code; that it does so is no reason to run it: a sweep must be one that a
// file of the worker's own project describes, and other trials and hooks must be exports of that project's files.

interface Allowance {
  /** Where the worker was started. */
  readonly directory: string;
  /** Exports that it may run, and no others. Default: those of the project's files. */
  readonly allow?: readonly string[] | undefined;
}

const paths = (): Builtin<"node:path"> => builtin("worker", "node:path");

/** Why this worker must not work for the claim's study, or undefined. */
export async function whyRefused({ trial, modules, dir }: Claim, allowance: Allowance): Promise<string | undefined> {
  try {
    const sweep = sweepOf(trial);
    const hooks = modules.slice(1);
    if (sweep === undefined) for (const module of modules) checkModule(module, allowance);
    else {
      if (dir === undefined || paths().resolve(dir) !== paths().resolve(sweep))
        throw failWithoutPlace(`${trial} is not in the study's directory.`);
      const { checkOwnSweep } = await import("../../sweep/sweep-record.ts");
      await checkOwnSweep(sweep, projectOf(allowance.directory), hooks, allowance.directory);
    }
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Whether a job asks for what its study has claimed: its own directory, and hooks that the claim names. */
export function isClaimed({ modules, dir }: Claim, { number, runDir, hooks = [] }: TrialJob): boolean {
  const own = dir === undefined ? undefined : trialDirectory(dir, number);
  const named = hooks.map((source) => (typeof source === "string" ? source : source.use));
  return runDir === own && named.every((name) => modules.includes(name, 1));
}

function checkModule(name: string, { directory, allow }: Allowance): void {
  if (allow) {
    if (allow.includes(name)) return;
    throw failWithoutPlace(`\`${name}\` is not among what this worker may run (--allow): ${allow.join(", ")}.`);
  }
  const { kind, module } = parseSpecifier(name, failWithoutPlace);
  if (kind === "package")
    throw failWithoutPlace(`\`${name}\` is of a package. If this worker shall run it: --allow ${name}`);
  insideProject(projectOf(directory), module, { from: directory });
}
