// What a worker may run. A claim in Redis names code; that it does so is no reason to run it: a sweep must be one that a
// file of the worker's own project describes, and other trials and hooks must be exports of that project's files.
import { failWithoutPlace } from "../../../experiment/config/fail.ts";
import { insideProject, projectOf } from "../../../experiment/config/project.ts";
import { parseSpecifier } from "../../../experiment/config/specifier.ts";
import { builtin } from "../../../platform/builtin.ts";
import { trialDirectory } from "../../store.ts";
import type { TrialJob } from "../runner.ts";
import { sweepOf } from "../sweep-of.ts";
import type { Claim } from "./claim.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

export interface Allowance {
  /** Where the worker was started. */
  readonly directory: string;
  /** Exports that it may run, and no others. Default: those of the project's files. */
  readonly allow?: readonly string[] | undefined;
}

const paths = (): Paths => builtin<Paths>("worker", "node:path");

/** Why this worker must not work for the claim's study, or undefined. */
export async function whyRefused({ trial, modules, dir }: Claim, allowance: Allowance): Promise<string | undefined> {
  try {
    const sweep = sweepOf(trial);
    const hooks = modules.slice(1);
    if (sweep === undefined) for (const module of modules) checkModule(module, allowance);
    else {
      if (dir === undefined || paths().resolve(dir) !== paths().resolve(sweep))
        throw failWithoutPlace(`${trial} is not in the study's directory.`);
      const { checkOwnSweep } = await import("../../sweep/own-sweep.ts");
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
