// Which code a worker runs. A claim in Redis names code, which alone is no reason to run it: a sweep must be one that a
// file of the worker's own project describes, and other trials and hooks must be exports of that project's files.
import { failWithoutPlace } from "../../../experiment/config/config-error.ts";
import { insideProject, projectOf } from "../../../experiment/config/project.ts";
import { parseSpecifier } from "../../../experiment/config/modules.ts";
import { builtin } from "../../../platform/builtin.ts";
import { trialDirectory } from "../../../runs/layout.ts";
import { checkOwnSweep } from "../../sweep/check-sweep.ts";
import { sweepOf } from "../../sweep/sweep-record.ts";
import type { TrialJob } from "../runner.ts";
import type { Claim } from "./claim.ts";

const OWNER = "bullmq";

export interface Allowance {
  /** Where the worker was started. */
  readonly directory: string;
  /** The only exports that it may run. Default: those of the project's files. */
  readonly allow?: readonly string[] | undefined;
}

/** Why this worker must not work for the claim's study, or undefined. */
export async function whyRefused({ trial, modules, dir }: Claim, allowance: Allowance): Promise<string | undefined> {
  try {
    const sweep = sweepOf(trial);
    if (sweep === undefined) for (const module of modules) checkModule(module, allowance);
    else {
      const { resolve } = builtin(OWNER, "node:path");
      if (dir === undefined || resolve(dir) !== resolve(sweep))
        throw failWithoutPlace(`${trial} is not in the study's directory.`);
      await checkOwnSweep(sweep, projectOf(allowance.directory), modules.slice(1), allowance.directory);
    }
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
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

/** Whether a job stays within its study's claim: the trial's own directory, and hooks that the claim names. */
export function isClaimed({ modules, dir }: Claim, { number, runDir, hooks = [] }: TrialJob): boolean {
  const own = dir === undefined ? undefined : trialDirectory(dir, number);
  const named = hooks.map((source) => (typeof source === "string" ? source : source.use));
  return runDir === own && named.every((name) => modules.includes(name, 1));
}
