// What the Experiment and its Trainers would say of a config when they are made, said before data is read, at its place.
import { checkCadence } from "../../core/cadence.ts";
import { HookRegistrationError, OptionError } from "../../core/errors.ts";
import { checkTrainerOptions, type TrainerOptions } from "../../trainer/options.ts";
import type { ConfigPath } from "../config/config-error.ts";
import { planModels } from "../experiment-options.ts";
import type { ExperimentOptions } from "../types.ts";
import type { BuildContext } from "./build-context.ts";

/** Stands for what is made when the data is there: the model, perhaps, and the loaders. */
const LATER = { init: () => ({}), apply: () => ({}) };

/**
 * One model with all that is said for it.
 * @param plan what could be made of it
 * @param written the path that a key was written at, where it was
 * @param place of the model
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
  const options = given as unknown as TrainerOptions;
  const { model, metrics } = options;
  if (typeof model === "object" && "apply" in model && written("loss") === undefined)
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

/** The whole of it: how long to train, names of models and hooks. */
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
