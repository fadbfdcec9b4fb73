// Extending a run: a model that is complete trains on when its limits allow more than it has done.
import { type LimitOptions, Limits, zeroCounters } from "../core/loop/counters.ts";
import { planModels } from "./plan.ts";
import type { SavedModel, SavedResults } from "../runs/results.ts";
import type { ExperimentOptions } from "./types.ts";

/**
 * A training that a hook stopped stays as it is, since its limits do not say whether more is wanted. So do folds, and a
 * training that left no checkpoint of its end to resume from.
 */
export function trainsOn(plan: LimitOptions, { complete, training, ended, foldResults }: SavedModel): boolean {
  if (!complete || training?.status !== "completed" || ended === undefined || foldResults) return false;
  // How many samples it has seen is not in results.json.
  if (plan.maxSamples !== undefined || plan.maxTokens !== undefined) return false;
  const { steps: step, epochs: epochsDone, elapsed } = training;
  const limits = new Limits(plan);
  const reached = limits.reached({ ...zeroCounters(), step, elapsed: elapsed * 1000 });
  return reached === undefined && epochsDone < limits.epochs;
}

/** Whether a run that is complete has something left to train under these options. */
export const hasMoreToTrain = <D>(options: ExperimentOptions<D>, { models }: SavedResults): boolean =>
  planModels(options).some(({ name, plan }) => Object.hasOwn(models, name) && trainsOn(plan, models[name]!));
