// Errors that the Experiment and its Trainers would throw, found before data is read and with their positions in the config.
import { checkCadence } from "../../core/cadence.ts";
import { HookRegistrationError, OptionError } from "../../core/errors.ts";
import { checkTrainerOptions, type TrainerOptions, withModelDefaults } from "../../trainer/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { planModels } from "../experiment-options.ts";
import type { ExperimentOptions } from "../types.ts";
import type { BuildContext } from "./build-context.ts";

/** Stands for what is made after the data has been read: the loaders, and perhaps the model. */
const LATER = { init: () => ({}), apply: () => ({}) };

/**
 * Checks one model with all of its options.
 * @param plan the options that could be made
 * @param written the path that a key was written at, if it was
 * @param place the path of the model
 */
export function checkPlan(
  context: BuildContext,
  plan: Readonly<Record<string, unknown>>,
  written: (key: string) => ConfigPath | undefined,
  place: ConfigPath,
): void {
  const whose = (key: string): ConfigPath => written(key) ?? place;
  for (const key of ["model", "optimizer"]) if (written(key) === undefined) context.add(place, `missing \`${key}\`.`);
  const { loaders: _loaders, evaluate: _evaluate, hooks: _hooks, ...given } = plan;
  const options = withModelDefaults(given as unknown as TrainerOptions);
  const { model, metrics } = options;
  if (typeof model === "object" && "apply" in model && options.loss === undefined && written("loss") === undefined)
    context.add(place, "missing `loss`, such as crossEntropy: the model has none of its own.");
  for (const key of ["evalEvery", "logEvery"] as const) {
    const cadence = options[key];
    if (cadence !== undefined) context.attempt(whose(key), () => checkCadence(key, cadence));
  }
  const later = { model: LATER, optimizer: LATER, train: LATER } as unknown as TrainerOptions;
  attempt(context, whose, () =>
    checkTrainerOptions({ ...options, ...later, metrics: typeof metrics === "function" ? {} : metrics! }),
  );
}

/** Checks the whole experiment: how long to train, names of models and hooks. */
export function checkExperiment(context: BuildContext, options: ExperimentOptions): void {
  attempt(
    context,
    (key) => [key],
    () => planModels(options),
  );
}

function attempt(context: BuildContext, whose: (key: string) => ConfigPath, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof HookRegistrationError) context.add(whose("hooks"), message, error);
    else if (error instanceof OptionError)
      context.add(error.option === undefined ? [] : whose(error.option), message, error);
    else throw error;
  }
}
