// An earlier run in the directory of an experiment: it is moved aside, replaced or trained further, and never mixed with a
// new one.
import { OptionError } from "../core/errors.ts";
import { Limits, zeroCounters, type LimitOptions } from "../core/loop/counters.ts";
import { builtin } from "../platform/builtin.ts";
import { moveDirectoryAside } from "../runs/files.ts";
import { foldDirectory, FORMATS, LOG_TRACES, RUN_TRACES } from "../runs/layout.ts";
import { readResults, type SavedModel, type SavedResults } from "../runs/results.ts";
import { planModels } from "./experiment-options.ts";
import type { ExperimentOptions } from "./types.ts";

/**
 * Makes room for a new run: an earlier one that has ended is moved aside as a whole, or replaced if it had not done a step.
 * One that may still be running, and files that are not an experiment's, are errors.
 * @param folders where the trainings of the new run would write
 * @returns the move, for when the new run begins: a failure before then leaves the earlier run where it is
 */
export async function roomFor(
  dir: string,
  folders: readonly string[],
  warn: (message: string) => void,
): Promise<() => void> {
  const saved = await readResults(dir);
  if (saved?.status === "running") {
    throw new OptionError(
      `Experiment: ${dir} has a run that has not ended: it was killed, or is still running. Resume it (run({ resume: true }), on the command line \`npx hookline resume\`), or delete or rename the directory to start a new run.`,
      { option: "runDir" },
    );
  }
  if (saved?.untrained) return () => replace(dir, folders, saved, warn);
  if (saved) {
    checkMovable(dir);
    return () => moveAside(dir, saved, warn);
  }
  const fs = builtin("Experiment", "node:fs");
  const found = folders
    .flatMap((folder) => RUN_TRACES.map((name) => `${folder}/${name}`))
    .find((path) => fs.existsSync(path));
  if (found === undefined) return () => undefined;
  throw new OptionError(
    `Experiment: ${dir} already has files of another run (${found}). Choose another \`runDir\`, or delete or rename that one.`,
    { option: "runDir" },
  );
}

/** Removes the files of a run and nothing else: the directory may have been there before. */
function replace(
  dir: string,
  folders: readonly string[],
  { status }: SavedResults,
  warn: (message: string) => void,
): void {
  const fs = builtin("Experiment", "node:fs");
  for (const folder of folders.flatMap((each) => [each, foldDirectory(each, 1)])) {
    for (const name of [...RUN_TRACES, ...LOG_TRACES]) fs.rmSync(`${folder}/${name}`, { recursive: true, force: true });
  }
  warn(`the last run in ${dir} (${status}) had not done a step: this one takes its place`);
}

export function moveAside(dir: string, saved: SavedResults, warn: (message: string) => void): void {
  checkMovable(dir);
  const moved = moveDirectoryAside(dir);
  const way = saved.status === "completed" ? "" : "; to resume it instead, rename it back and say `resume`";
  warn(`the last run in ${dir} (${saved.status}) is in ${moved} now${way}`);
}

/** Rejects the working directory and those above it: they hold more than a run. */
function checkMovable(dir: string): void {
  const { relative, resolve, isAbsolute } = builtin("Experiment", "node:path");
  const rest = relative(resolve(dir), resolve("."));
  if (rest.startsWith("..") || isAbsolute(rest)) return;
  throw new OptionError(
    `Experiment: ${dir} has a run that has ended (${FORMATS.results.file}) and cannot be moved aside: it is the current directory, or contains it. Choose another \`runDir\`.`,
    { option: "runDir" },
  );
}

/**
 * Whether a complete model trains further, because its limits allow more than it has done. A training that a hook stopped
 * does not, since its limits do not say whether more is wanted; nor do folds, or a training without a checkpoint of its end.
 */
export function trainsOn(plan: LimitOptions, { complete, training, ended, foldResults }: SavedModel): boolean {
  if (!complete || training?.status !== "completed" || ended === undefined || foldResults) return false;
  // results.json does not have the number of samples.
  if (plan.maxSamples !== undefined || plan.maxTokens !== undefined) return false;
  const { steps: step, epochs: epochsDone, elapsed } = training;
  const limits = new Limits(plan);
  const reached = limits.reached({ ...zeroCounters(), step, elapsed: elapsed * 1000 });
  return reached === undefined && epochsDone < limits.epochs;
}

/** Whether a run that is complete has something left to train under these options. */
export const hasMoreToTrain = <D>(options: ExperimentOptions<D>, { models }: SavedResults): boolean =>
  planModels(options).some(({ name, plan }) => Object.hasOwn(models, name) && trainsOn(plan, models[name]!));
