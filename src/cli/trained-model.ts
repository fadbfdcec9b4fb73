// A trained model, restored from its run directory: its data, its loaders, and its weights from a checkpoint.
import { dirname, join, resolve } from "node:path";
import { chooseCheckpoint } from "../checkpoint/weights/choose-checkpoint.ts";
import { readWeights } from "../checkpoint/weights/read-weights.ts";
import type { Loader, Model } from "../core/model.ts";
import type { Datasets } from "../core/outer-events.ts";
import { Shared } from "../core/shared.ts";
import { didYouMean } from "../core/names.ts";
import { DataLoader } from "../data/data-loader.ts";
import { isLoader } from "../data/mix.ts";
import type { Arrays, DataSource } from "../data/source.ts";
import { Agreement } from "../distributed/exchange.ts";
import { single } from "../distributed/strategy.ts";
import { buildExperiment } from "../experiment/build/build-experiment.ts";
import { DEFAULT_BATCH_SIZE, PipelineHooks, planModels, type PlannedModel } from "../experiment/experiment-options.ts";
import { checkUnchanged, type PreparedData, prepareDatasets } from "../experiment/prepared-data.ts";
import { defaultLoaders, isForModel, Training } from "../experiment/training.ts";
import { OuterState } from "../core/registry/outer-hooks.ts";
import { readResults } from "../runs/results.ts";
import type { ExperimentOptions, Loaders } from "../experiment/types.ts";
import { UsageError } from "./errors.ts";
import { say, shownPath } from "./output.ts";
import type { ConfigDocument } from "../experiment/config/config-tree.ts";
import { CHECKPOINTS } from "../runs/layout.ts";
import { readStudy } from "../tune/study-store.ts";
import { recordedExperiment } from "../tune/sweep/check-sweep.ts";
import { readRecord as readSweepRecord } from "../tune/sweep/sweep-record.ts";
import { trialConfig } from "../tune/sweep/trial-config.ts";
import { readRecord, recordedConfig } from "./train/run-directory.ts";

type Part = "train" | "val" | "test";

export interface Wanted {
  /** `best`, `last`, or a name. */
  readonly checkpoint: string;
  readonly on: Part;
  readonly model?: string | undefined;
}

export interface Trained {
  readonly training: Training<Arrays>;
  readonly loader: Loader;
  /** Whether the config has its own final evaluation. */
  readonly hasOwnEvaluation: boolean;
  /** Where the weights are from. */
  readonly from: string;
}

/** Hooks only take part in reading the data, which they may change; nothing is logged to the run. */
export async function openTrained(given: string, { checkpoint, on, model }: Wanted): Promise<Trained> {
  const runDir = shownPath(given);
  const options = await buildExperiment(await trainedConfig(runDir));
  const planned = chooseModel(planModels({ ...options, runDir }), model);
  // Before reading the data, which may take long.
  const from = await checkpointOf(planned.runDir!, checkpoint);
  const shared = new Shared();
  const prepared = prepareDatasets(options.preprocess, await readDatasets(options, runDir, shared));
  // Weights mean nothing for other numbers than those that they were trained on.
  checkUnchanged(runDir, (await readResults(runDir))?.preprocessor, prepared.preprocessor);
  const loaders = await loadersOf(planned, prepared, options);
  const loader = chooseLoader(loaders, on);
  const place = {
    runDir: undefined,
    shared,
    loader: options.loader,
    config: options.config ?? options,
    off: new Set<string>(),
    agreement: new Agreement(single),
    warn: say,
  };
  const training = await Training.prepare({ ...planned, hooks: [] }, prepared, place);
  await training.trainer.loadStateDict(await readWeights(from));
  return { training, loader, hasOwnEvaluation: planned.plan.evaluate !== undefined, from };
}

/** Training data in its order, where that is known. */
async function loadersOf(
  { plan }: PlannedModel<Arrays>,
  prepared: PreparedData<Arrays>,
  options: ExperimentOptions,
): Promise<Loaders> {
  const { datasets } = prepared;
  if (plan.loaders) return plan.loaders({ ...prepared, seed: options.seed ?? 0 });
  if (isForModel(datasets.train))
    return datasets.train.loadersFor(plan.model as Model, { batchSize: DEFAULT_BATCH_SIZE, ...options.loader });
  return { ...defaultLoaders(datasets, options.loader), train: inOrder(datasets, options) };
}

function chooseModel(models: readonly PlannedModel<Arrays>[], name: string | undefined): PlannedModel<Arrays> {
  const names = models.map((one) => one.name);
  if (name === undefined && models.length === 1) return models[0]!;
  const found = models.find((one) => one.name === name);
  if (found) return found;
  const list = `Models: ${names.join(", ")}.`;
  throw new UsageError(
    name === undefined
      ? `The run has several models. Choose one: --model ${names[0]}. ${list}`
      : `The run has no model \`${name}\`.${didYouMean(name, names)} ${list}`,
  );
}

async function checkpointOf(runDir: string, wanted: string): Promise<string> {
  const { checkpoint, why } = await chooseCheckpoint(runDir, wanted);
  if (why === "newest") say(`${runDir} does not know its best checkpoint yet: using the last one.`);
  return join(runDir, CHECKPOINTS, checkpoint.name);
}

/** Reads the data as the experiment did, with its hooks: it must be the data that was trained on. */
async function readDatasets(options: ExperimentOptions, runDir: string, shared: Shared): Promise<Datasets<Arrays>> {
  const { name: experiment = "experiment", seed = 0, split } = options;
  const hooks = new PipelineHooks(options.hooks ?? []);
  const state = new OuterState(say);
  const common = { experiment, seed, runDir, shared };
  let data = await options.data();
  const replace = (changed: unknown): void => {
    if (changed !== undefined) data = changed as Arrays;
  };
  await hooks.fire("dataRead", state, () => ({ ...common, data }), { returned: replace });
  const { main, folds = [] } = split ? await split(data, seed) : { main: { train: data } };
  await hooks.fire("datasetCreated", state, () => ({ ...common, datasets: main, folds }));
  return main;
}

/** Not shuffled, so that output n belongs to sample n. */
function inOrder({ train }: Datasets<Arrays>, { loader = {} }: ExperimentOptions): Loader {
  const { batchSize = DEFAULT_BATCH_SIZE, evalBatchSize = batchSize, dtypes } = loader;
  return new DataLoader(train as DataSource, { batchSize: evalBatchSize, ...(dtypes && { dtypes }) });
}

function chooseLoader({ train, eval: val, test }: Loaders, on: Part): Loader {
  const parts = { train, val, test };
  const found = parts[on];
  if (found === undefined) {
    const has = Object.entries(parts).flatMap(([part, loader]) => (loader === undefined ? [] : [part]));
    throw new UsageError(`The run has no ${on} data. It has: ${has.join(", ")}. Choose with --on.`);
  }
  if (isLoader(found)) return found;
  const several = Object.entries(found);
  if (several.length === 1) return several[0]![1];
  throw new UsageError(
    `The ${on} data has several loaders (${several.map(([name]) => name).join(", ")}), which this command cannot choose from.`,
  );
}

/** The config of a run: from its record, or, for a trial, from its sweep. */
async function trainedConfig(runDir: string): Promise<ConfigDocument> {
  return (await configOfTrial(runDir)) ?? recordedConfig(runDir, readRecord(runDir), []);
}

/** Undefined when the directory is not that of a trial. */
async function configOfTrial(runDir: string): Promise<ConfigDocument | undefined> {
  const study = dirname(resolve(runDir));
  const record = readSweepRecord(study);
  if (!record) return undefined;
  const trial = readStudy(study)?.trials.find(
    (one) => one.runDir !== undefined && resolve(one.runDir) === resolve(runDir),
  );
  return trial && trialConfig(study, record, await recordedExperiment(study, record), trial.params);
}
