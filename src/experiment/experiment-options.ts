// The options of an experiment: checked before any data is read, and resolved into one plan for each model.
import { OptionError } from "../core/errors.ts";
import { CheckedHook } from "../core/registry/checked-hook.ts";
import { Limits } from "../core/loop/counters.ts";
import { checkOptions, is, listOrNamed, one, oneOrList, oneOrNamed, show, type Json } from "../core/options.ts";
import { checkName } from "../core/safe-name.ts";
import { DATA_LOADER_CHECKS } from "../data/data-loader.ts";
import { resolveOptions } from "../data/preprocess/options.ts";
import { checkEngine } from "../engines/select.ts";
import type { Hook } from "../core/hook.ts";
import { plainOptions } from "../hooks/logger/run-facts.ts";
import { TRAINER_CHECKS } from "../trainer/options.ts";
import { FORMATS } from "../runs/layout.ts";
import type { ExperimentOptions, ModelPlan } from "./types.ts";
import { OuterHooks } from "../core/registry/outer-hooks.ts";
import type { PipelineContexts } from "../core/outer-events.ts";

/** One model of the experiment: its own options over those for all models. */
export interface PlannedModel<D> {
  readonly name: string;
  readonly plan: ModelPlan<D>;
  /** Those of the experiment, then those of the model. */
  readonly hooks: readonly Hook[];
  readonly pipeline: PipelineHooks;
  readonly params: Readonly<Record<string, Json>>;
  readonly runDir: string | undefined;
}

/** Hooks in the events of an experiment. */
export class PipelineHooks extends OuterHooks<PipelineContexts> {
  constructor(hooks: readonly Hook[]) {
    super("experiment", hooks);
  }
}

export const DEFAULT_BATCH_SIZE = 32;
/** The name of the only model. */
const ONLY = "model";
const DATA_EVENTS = ["dataRead", "datasetCreated"] as const;

const {
  train: _train,
  eval: _eval,
  runDir,
  store: _store,
  shared: _shared,
  experiment: _whole,
  ...TRAINING
} = TRAINER_CHECKS;
const PLAN_CHECKS = {
  ...TRAINING,
  model: { ...is.or(is.object, is.function), holds: one("model") },
  loss: { ...TRAINING.loss, holds: one("loss") },
  metrics: { ...is.or(is.object, is.function), holds: listOrNamed("metric") },
  optimizer: { ...TRAINING.optimizer, holds: oneOrNamed("optimizer") },
  schedule: { ...TRAINING.schedule, holds: one("schedule") },
  hooks: { ...TRAINING.hooks, holds: oneOrList("hook") },
  loaders: is.function,
  evaluate: is.function,
  params: is.object,
};
export const EXPERIMENT_CHECKS = {
  ...PLAN_CHECKS,
  name: is.name,
  runDir,
  data: { ...is.function, holds: one("data") },
  split: { ...is.function, holds: one("split") },
  preprocess: is.object,
  loader: is.object,
  config: is.object,
  models: is.object,
};

const { seed: _seed, collate: _collate, ...LOADING } = DATA_LOADER_CHECKS;
/** How arrays become batches: the options of a DataLoader that are plain data, and one for evaluations. */
export const LOADER_CHECKS = { ...LOADING, evalBatchSize: LOADING.batchSize };

export function planModels<D>(options: ExperimentOptions<D>): PlannedModel<D>[] {
  checkOptions("Experiment", options, EXPERIMENT_CHECKS, ["data"]);
  if (options.loader) checkOptions("Experiment: loader", options.loader, LOADER_CHECKS);
  const {
    name: _name,
    runDir: dir,
    data: _data,
    split: _split,
    preprocess,
    config: _config,
    loader = {},
    models,
    ...all
  } = options;
  if (preprocess) resolveOptions(preprocess);
  if (models === undefined) return [planModel(ONLY, {}, all, dir, loader.batchSize)];
  const entries = Object.entries(models);
  if (entries.length === 0) throw new OptionError("Experiment: `models` is an empty object; give at least one model.");
  return entries.map(([name, own]) => {
    checkName("a model's name", name);
    if (name === FORMATS.results.file)
      throw new OptionError(`Experiment: a model cannot be named \`${name}\`: a file has that name.`);
    if (!is.object.test(own))
      throw new OptionError(`Experiment: Expected \`models.${name}\` to be an object, got ${show(own)}`);
    checkOptions(`Experiment: models.${name}`, own, PLAN_CHECKS);
    return planModel(name, own, all, dir === undefined ? undefined : `${dir}/${name}`, loader.batchSize);
  });
}

function planModel<D>(
  name: string,
  own: ModelPlan<D>,
  all: ModelPlan<D>,
  dir: string | undefined,
  batchSize = DEFAULT_BATCH_SIZE,
): PlannedModel<D> {
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const plan: ModelPlan<D> = { ...all, ...set };
  const owner = name === ONLY ? "Experiment" : `Experiment: models.${name}`;
  for (const key of ["model", "optimizer"] as const) {
    if (plan[key] === undefined)
      throw new OptionError(`${owner}: missing option \`${key}\` (${PLAN_CHECKS[key].expected}).`);
  }
  if (plan.engine !== undefined) checkEngine(plan.engine);
  // Throws when the options do not limit how long to train.
  void new Limits(plan);
  const hooks = [...(all.hooks ?? []), ...(own.hooks ?? [])];
  const pipeline = new PipelineHooks(hooks);
  for (const hook of own.hooks ?? []) checkOwnHook(owner, hook);
  const params = plan.params ?? { ...plainOptions(plan), ...(!plan.loaders && { batchSize }) };
  return { name, plan, hooks, pipeline, params, runDir: dir };
}

/** Rejects a hook that would never be called. */
function checkOwnHook(owner: string, hook: Hook): void {
  const { name, methods } = new CheckedHook(hook);
  const event = DATA_EVENTS.find((each) => methods.has(each));
  if (event === undefined) return;
  throw new OptionError(
    `${owner}: hook \`${name}\` listens to \`${event}\`, which comes before any model. Put it among the hooks of the experiment.`,
  );
}
