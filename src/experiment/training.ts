// One training of an experiment, of a model or of one of its folds: its trainer, its loaders and its evaluation.
import { attach, DataError, HookError, OptionError } from "../core/errors.ts";
import { withDeadline } from "../core/registry/dispatch.ts";
import type { AnyMetric, ArrayMetric } from "../core/model.ts";
import { isOfEvaluation } from "../core/names.ts";
import { is, show } from "../core/options.ts";
import type { Datasets } from "../core/outer-events.ts";
import type { RunResult } from "../core/loop/result.ts";
import type { Shared } from "../core/shared.ts";
import { DataLoader, type DataLoaderOptions } from "../data/data-loader.ts";
import { isLoader } from "../data/mix.ts";
import { fittedPreprocessor } from "../data/preprocess/fitted-preprocessor.ts";
import type { DataSource } from "../data/source.ts";
import type { Agreement } from "../distributed/exchange.ts";
import { averagedParams } from "../hooks/averaging/average.ts";
import { endsLater, weightsStep } from "../hooks/logger/experiment-run.ts";
import { bestCheckpoint } from "../hooks/model-checkpoint/model-checkpoint.ts";
import type { FitOptions } from "../trainer/options.ts";
import { checkMonitors as checkProvided, metricNames, watchersOf, type Watcher } from "../trainer/preflight.ts";
import { Trainer } from "../trainer/trainer.ts";
import { bestParameters, type BestParameters } from "./best-parameters.ts";
import { DEFAULT_BATCH_SIZE, type PlannedModel } from "./experiment-options.ts";
import type { PreparedData } from "./prepared-data.ts";
import type { DataForModel, LoaderOptions, Loaders, Setup } from "./types.ts";

/** What a training shares with its experiment. */
export interface TrainingContext {
  readonly runDir: string | undefined;
  readonly shared: Shared;
  readonly loader: LoaderOptions | undefined;
  /** The configuration of the whole experiment, for hooks. */
  readonly config: object;
  /** Hooks that are switched off. */
  readonly off: ReadonlySet<string>;
  readonly agreement: Agreement;
  warn(message: string): void;
}

export class Training<D> {
  readonly trainer: Trainer;
  readonly #best: BestParameters;
  readonly #loaders: Loaders;
  readonly #setup: Setup<D>;
  readonly #evaluate: PlannedModel<D>["plan"]["evaluate"];
  readonly #context: TrainingContext;

  private constructor(
    trainer: Trainer,
    best: BestParameters,
    loaders: Loaders,
    setup: Setup<D>,
    model: PlannedModel<D>,
    context: TrainingContext,
  ) {
    this.trainer = trainer;
    this.#best = best;
    this.#loaders = loaders;
    this.#setup = setup;
    this.#evaluate = model.plan.evaluate;
    this.#context = context;
  }

  /** Makes the model, metrics and loaders, which may look at the data, and the trainer. */
  static async prepare<D>(
    model: PlannedModel<D>,
    { datasets, preprocessor }: PreparedData<D>,
    context: TrainingContext,
  ): Promise<Training<D>> {
    const { model: given, metrics, loaders: makeLoaders, evaluate: _e, params: _p, hooks: _h, ...options } = model.plan;
    const setup: Setup<D> = { datasets, seed: options.seed ?? 0, ...(preprocessor && { preprocessor }) };
    const made = typeof given === "function" ? await given(setup) : given!;
    const loaders = makeLoaders ? await makeLoaders(setup) : await loadersOf(datasets, made, context.loader);
    if (!is.object.test(loaders) || loaders.train === undefined)
      throw new OptionError(`Experiment: Expected \`loaders\` to return { train, eval, test }, got ${show(loaders)}`);
    const best = bestParameters();
    // Values that hooks shared in an earlier training do not apply to this one.
    for (const key of [bestCheckpoint, averagedParams, weightsStep]) context.shared.delete(key);
    if (preprocessor) context.shared.set(fittedPreprocessor, preprocessor);
    const trainer = new Trainer({
      ...options,
      optimizer: options.optimizer!,
      model: made,
      ...(metrics && { metrics: withClassNames(typeof metrics === "function" ? metrics(setup) : metrics, setup) }),
      train: loaders.train,
      ...(loaders.eval && { eval: loaders.eval }),
      ...(context.runDir !== undefined && { runDir: context.runDir }),
      shared: context.shared,
      experiment: context.config,
      hooks: [...model.hooks, best.hook],
    });
    for (const name of context.off) if (trainer.hooks.get(name)) trainer.hooks.disable(name);
    return new Training(trainer, best, loaders, setup, model, context);
  }

  /** Trains; unless interrupted, it leaves the best parameters in place. */
  async fit(options: FitOptions): Promise<RunResult> {
    const result = await this.trainer.fit(options);
    const { weights } = this.#best;
    if (weights) await this.trainer.loadStateDict(weights);
    if (this.#best.step !== undefined) this.#context.shared.set(weightsStep, this.#best.step);
    // The hook that knows the best checkpoint runs in the main process only.
    const { agreement } = this.#context;
    if (await agreement.first(weights && true)) await agreement.shareParameters(this.trainer);
    return result;
  }

  /** Which checkpoints the training ended with: the last, and the one whose parameters are in place. */
  get checkpoints(): { readonly ended?: string; readonly checkpoint?: string } {
    const { ended, checkpoint } = this.#best;
    return { ...(ended !== undefined && { ended }), ...(checkpoint !== undefined && { checkpoint }) };
  }

  /** Whether a step was done. */
  get trained(): boolean {
    return this.#best.trained;
  }

  /** The final evaluation: by the user's `evaluate`, or on the test data, or else on the validation data. */
  async evaluate(): Promise<Record<string, number>> {
    if (this.#evaluate) return checkResults("`evaluate`", await this.#evaluate(this.trainer, this.#setup));
    const { test, eval: watched } = this.#loaders;
    if (test) return this.trainer.evaluate(test);
    if (!watched) return {};
    if (isLoader(watched)) return this.trainer.evaluate(watched, { name: "val" });
    const all: Record<string, number> = {};
    for (const [name, loader] of Object.entries(watched))
      Object.assign(all, await this.trainer.evaluate(loader, { name }));
    return all;
  }

  /** Runs `work` and closes the trainer in any case; an error of closing is attached to that of `work`. */
  async closing<T>(work: () => Promise<T>): Promise<T> {
    let done: T;
    // For loggers, the training and its evaluation are one run.
    const ends = new Map<string, () => Promise<void>>();
    this.#context.shared.set(endsLater, ends);
    try {
      done = await work();
    } catch (error) {
      await this.#end(ends);
      await this.trainer.close().catch((more: Error) => attach(error, [more]));
      throw error;
    }
    await this.#end(ends);
    await this.trainer.close();
    return done;
  }

  /** As in `close`, a hook that fails or hangs is a warning: the results exist already. */
  async #end(ends: ReadonlyMap<string, () => Promise<void>>): Promise<void> {
    this.#context.shared.delete(endsLater);
    const { closeTimeout = 10_000 } = this.trainer.options;
    for (const [hook, end] of ends) {
      await withDeadline(end(), closeTimeout).catch((error: unknown) =>
        this.#context.warn(new HookError(hook, "close", undefined, error).message),
      );
    }
  }
}

/** Whether data makes its own loaders, of which it keeps a part for validation if it was asked to. */
export const isForModel = (data: unknown): data is DataForModel =>
  is.object.test(data) && typeof (data as Partial<DataForModel>).loadersFor === "function";

const loadersOf = <D>(
  datasets: Datasets<D>,
  model: Parameters<DataForModel["loadersFor"]>[0],
  options: LoaderOptions = {},
): Loaders | Promise<Loaders> =>
  isForModel(datasets.train)
    ? datasets.train.loadersFor(model, { batchSize: DEFAULT_BATCH_SIZE, ...options })
    : defaultLoaders(datasets, options);

/** Metrics that count by class get the names of the target's classes, unless they were given some. */
function withClassNames<D>(metrics: Readonly<Record<string, AnyMetric>>, { preprocessor }: Setup<D>) {
  const target = preprocessor?.target;
  if (target?.kind !== "label") return metrics;
  const named = (metric: AnyMetric): AnyMetric => (metric as Partial<ArrayMetric>).named?.(target.names) ?? metric;
  return Object.fromEntries(Object.entries(metrics).map(([name, metric]) => [name, named(metric)]));
}

/** Rejects results that are not numbers by name. */
export function checkResults(owner: string, results: unknown): Record<string, number> {
  if (!is.object.test(results)) throw new DataError(`${owner}: Expected numbers by name, got ${show(results)}`);
  for (const [name, value] of Object.entries(results as object) as [string, unknown][]) {
    if (typeof value !== "number")
      throw new DataError(`${owner}: Expected results to be numbers, but \`${name}\` is ${show(value)}`);
  }
  return results as Record<string, number>;
}

/** Loaders for datasets of arrays or samples, unless the user makes their own. */
export function defaultLoaders<D>({ train, val, test }: Datasets<D>, options: LoaderOptions = {}): Loaders {
  const {
    batchSize = DEFAULT_BATCH_SIZE,
    evalBatchSize = batchSize,
    shuffle = true,
    dropLast,
    sampling,
    ...more
  } = options;
  const load = (data: D, how: DataLoaderOptions): DataLoader => new DataLoader(data as DataSource, { ...more, ...how });
  // `dropLast` and `sampling` do not apply: in evaluations every row counts, once.
  const whole = { batchSize: evalBatchSize };
  return {
    train: load(train, {
      batchSize,
      shuffle,
      ...(dropLast !== undefined && { dropLast }),
      ...(sampling && { sampling }),
    }),
    ...(val !== undefined && { eval: load(val, whole) }),
    ...(test !== undefined && { test: load(test, whole) }),
  };
}

/**
 * Rejects monitors on metrics that an experiment will not have, before any model is made. The trainer makes the same check,
 * but only when its turn comes: with folds, after all of them were trained.
 */
export function checkMonitors<D>(
  { plan, hooks }: Pick<PlannedModel<D>, "plan" | "hooks">,
  { train, val }: Datasets<D>,
  folds: number,
): void {
  // The user's own loaders, or those of the data, decide what is evaluated.
  if (plan.loaders || isForModel(train)) return;
  const watchers = watchersOf(hooks, plan.schedule ? [plan.schedule] : []);
  const missing = val === undefined ? watchers.find(({ monitor }) => isOfEvaluation(monitor)) : undefined;
  if (missing) throw noValidation(missing, folds);
  // Metrics that are made from the data are not known yet.
  const { metrics = {} } = plan;
  if (typeof metrics === "function") return;
  checkProvided(watchers, {
    metrics: metricNames(metrics, val === undefined ? [] : ["val"]),
    logs: hooks.flatMap(({ logs = [] }) => logs),
    evaluates: val !== undefined,
  });
}

function noValidation({ kind, name, monitor }: Watcher, folds: number): OptionError {
  const where =
    folds > 0
      ? "which the folds have and the main training has not. Give it data to validate on: kFold({ val: 0.1 })"
      : "and there is no data to validate on. Give the split a share for it: holdout({ val: 0.1 })";
  const instead = kind === "schedule" ? "" : "; or, where a hook of yours logs it, say `strict: false`";
  return new OptionError(
    `Experiment: ${kind === "hook" ? `hook \`${name}\`` : "the schedule"} watches \`${monitor}\`, ${where}${instead}.`,
  );
}
