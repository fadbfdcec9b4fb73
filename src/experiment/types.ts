// The options of an experiment: where data comes from, how it is split, which models are trained on it.
import type { Hook, HookFailure } from "../core/hook.ts";
import type { Json } from "../core/options.ts";
import type { AnyMetric, HostBatch, Loader, LossModel, Model } from "../core/model.ts";
import type { Datasets } from "../core/outer-events.ts";
import type { RunResult } from "../core/loop/result.ts";
import type { FoldStats, TrainingSummary } from "../runs/results.ts";
import type { DataLoaderOptions } from "../data/data-loader.ts";
import type { PreprocessorOptions } from "../data/preprocess/options.ts";
import type { Preprocessor } from "../data/preprocess/preprocessor.ts";
import type { Arrays } from "../data/source.ts";
import type { Table } from "../data/table/table.ts";
import type { Trainer } from "../trainer/trainer.ts";
import type { TrainerOptions } from "../trainer/options.ts";
import type { Preflight } from "../trainer/preflight.ts";

/** The result of a split: the main datasets, and for cross-validation a pair of train and val for each fold. */
export interface SplitData<D> {
  readonly main: Datasets<D>;
  readonly folds?: readonly Datasets<D>[];
}

/** Cuts data into parts: holdout(), kFold(), leaveOneOut(), byTime(), or your own function. */
export type Split<D = Arrays> = (data: D, seed: number) => SplitData<D> | Promise<SplitData<D>>;

/** Data as a model is trained on it: a table is preprocessed into arrays. */
export type Prepared<D> = D extends Table ? HostBatch : D;

/** What is known when models, metrics and loaders are made: they may depend on the data. In a fold, on its data. */
export interface Setup<D = Arrays> {
  readonly datasets: Datasets<Prepared<D>>;
  readonly seed: number;
  /** Fitted on the training data; undefined where the data is no table. */
  readonly preprocessor?: Preprocessor;
}

/** The loaders of one training: `train` and `eval` of the trainer, and `test` for the final evaluation. */
export interface Loaders {
  readonly train: TrainerOptions["train"];
  readonly eval?: TrainerOptions["eval"];
  readonly test?: Loader;
}

/** Data that makes its own loaders once there is a model, as texts need the tokenizer of a language model. */
export interface DataForModel {
  loadersFor(model: GivenModel, options: LoaderOptions): Promise<Loaders>;
}

/** How datasets of arrays become loaders. `evalBatchSize` is for val and test; default `batchSize`. */
export interface LoaderOptions extends Pick<
  DataLoaderOptions,
  "batchSize" | "shuffle" | "dropLast" | "dtypes" | "sampling" | "buckets" | "prefetch"
> {
  readonly evalBatchSize?: number;
}

type GivenModel = Model<never> | LossModel;
type Metrics = Readonly<Record<string, AnyMetric>>;

/** One model and how it is trained: the options of a Trainer, except where its data comes from. */
export interface ModelPlan<D = Arrays> extends Partial<
  Omit<TrainerOptions, "model" | "metrics" | "train" | "eval" | "runDir" | "store" | "hooks" | "shared" | "experiment">
> {
  readonly model?: GivenModel | ((setup: Setup<D>) => GivenModel | Promise<GivenModel>);
  readonly metrics?: Metrics | ((setup: Setup<D>) => Metrics);
  /** Makes the loaders of this model; default: DataLoaders over arrays, as `loader` says. */
  readonly loaders?: (setup: Setup<D>) => Loaders | Promise<Loaders>;
  /** The final evaluation; default: `trainer.evaluate` of the test loader, or where there is none of `eval`. */
  readonly evaluate?: (trainer: Trainer, setup: Setup<D>) => Promise<Record<string, number>>;
  /** Hooks of this model alone, after those of the experiment. */
  readonly hooks?: readonly Hook[];
  /** Hyperparameters as plain data, for hooks and records. */
  readonly params?: Readonly<Record<string, Json>>;
}

/** Options of `Experiment`: those of a trainer, and what comes before and after training. */
export interface ExperimentOptions<D = Arrays> extends ModelPlan<D> {
  /** Default `experiment`. */
  readonly name?: string;
  /** Where files go; with several models each has a directory of its name in it. */
  readonly runDir?: string;
  /** Reads the data. */
  readonly data: () => D | Promise<D>;
  /** Default: everything is for training. */
  readonly split?: Split<NoInfer<D>>;
  /**
   * How the columns of a table become arrays `{ x, y, weight }`: the options of a Preprocessor. It is fitted on the
   * training data alone, in each fold on its own.
   */
  readonly preprocess?: PreprocessorOptions;
  /** How arrays become batches. Default `{ batchSize: 32, shuffle: true }`. */
  readonly loader?: LoaderOptions;
  /** The configuration that these options were made from, as plain data; hooks see it in `ctx.config.experiment`. Default: these options. */
  readonly config?: Readonly<Record<string, Json>>;
  /** Several models by name; options that a model does not set are those above. */
  readonly models?: Readonly<Record<string, ModelPlan<D>>>;
}

/** What `preflight` of an experiment found for a model. */
export interface ModelPreflight extends Preflight {
  /** Fitted on the main training data; undefined where the data is no table. */
  readonly preprocessor?: Preprocessor;
}

/** Options of an experiment's `run`. */
export interface RunExperimentOptions {
  /**
   * Resumes an earlier run in the same directory: finished models are not trained again. Or the path of a checkpoint to
   * resume from, in an experiment of one model.
   */
  readonly resume?: boolean | string;
  /** Ends the experiment after the current step, or before the next part starts. */
  readonly signal?: AbortSignal;
}

/** One model of an experiment, trained and evaluated. */
export interface ModelResult {
  readonly model: string;
  readonly params: Readonly<Record<string, Json>>;
  readonly training: TrainingSummary;
  /** The checkpoint that the evaluated parameters came from; undefined when they are those that training ended with. */
  readonly checkpoint: string | undefined;
  /** Of the final evaluation. Empty when there is nothing to evaluate on. */
  readonly results: Readonly<Record<string, number>>;
  /** Mean and standard deviation over the folds, by metric. */
  readonly folds?: Readonly<Record<string, FoldStats>>;
  readonly runDir: string | undefined;
}

/** What `run` of an experiment resolves to. */
export interface ExperimentResult {
  readonly name: string;
  /** `completed`, or how it ended early: by a hook's stop or a signal. */
  readonly status: RunResult["status"];
  readonly reason: string;
  /** The hook or signal that ended it; empty when it is complete. */
  readonly requestedBy: string;
  /** The complete models by name. A single model is named `model`. */
  readonly models: Readonly<Record<string, ModelResult>>;
  /** Errors of hooks in the experiment's own events that, by the hook's policy, did not end it. */
  readonly hookErrors: readonly HookFailure[];
}
