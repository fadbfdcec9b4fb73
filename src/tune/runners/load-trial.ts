// Loads the function of a trial that is given by name: a module's export, or the experiment of a sweep.
import { OptionError } from "../../core/errors.ts";
import { show } from "../../core/options.ts";
import { loadExport } from "../../experiment/config/modules.ts";
import { projectOf } from "../../experiment/config/project.ts";
import { sweepOf } from "../sweep/sweep-record.ts";
import type { TrialFunction } from "../trial.ts";

/** @param directory what a module's path is relative to */
export async function loadTrial(trial: string, directory: string): Promise<TrialFunction<never>> {
  const dir = sweepOf(trial);
  if (dir !== undefined) return (await import("../sweep/experiment-trial.ts")).experimentTrial(dir);
  const fn = await loadExport(trial, { directory, project: projectOf(directory) });
  if (typeof fn === "function") return fn as TrialFunction<never>;
  throw new OptionError(`Expected \`trial\` (${trial}) to be a function, got ${show(fn)}`);
}
