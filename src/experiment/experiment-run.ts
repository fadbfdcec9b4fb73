// One run of an experiment, from the data to the last result.
import { checkUnlocked } from "../runs/lock.ts";
import { isLockLost, OptionError } from "../core/errors.ts";
import { safeText } from "../core/safe-text.ts";
import type { Hook } from "../core/hook.ts";
import { show } from "../core/options.ts";
import type { Datasets } from "../core/outer-events.ts";
import { redact, secretsOfEnvironment } from "../platform/redact.ts";
import { Shared } from "../core/shared.ts";
import { Agreement, type StartFacts } from "../distributed/exchange.ts";
import { fittedPreprocessor } from "../data/preprocess/fitted-preprocessor.ts";
import { openStrategy } from "../distributed/strategy.ts";
import { currentPlatform } from "../platform/platform.ts";
import { Interruptions } from "../trainer/interruptions.ts";
import type { FitOptions } from "../trainer/options.ts";
import type { Preflight } from "../trainer/preflight.ts";
import { OuterState } from "../core/registry/outer-hooks.ts";
import type { PipelineHooks, PlannedModel } from "./experiment-options.ts";
import { Progress, type Ending } from "./progress.ts";
import { CHECKPOINTS, foldDirectory } from "../runs/layout.ts";
import { readResults, type SavedModel } from "../runs/results.ts";
import { type PreparedData, checkUnchanged, prepareDatasets } from "./prepared-data.ts";
import { roomFor, trainsOn } from "./previous-run.ts";
import { checkMonitors, checkResults, Training } from "./training.ts";
import type { ExperimentOptions, ExperimentResult, ModelPreflight, RunExperimentOptions, SplitData } from "./types.ts";

const ONLY_MAIN_HAS_IT =
  'it returned new data, but it runs on the main process only (`ranks: "main"`): the others would train on other data. Leave out `ranks`.';

export class ExperimentRun<D> {
  readonly #options: ExperimentOptions<D>;
  readonly #models: readonly PlannedModel<D>[];
  readonly #hooks: PipelineHooks;
  readonly #resume: boolean | string;
  readonly #signal: AbortSignal | undefined;
  readonly #platform = currentPlatform();
  readonly #state: OuterState;
  /** One for the whole experiment. */
  readonly #shared = new Shared();
  #agreement!: Agreement;
  #interruptions!: Interruptions;
  #progress!: Progress;
  /** The main data, preprocessed. */
  readonly #prepared = new WeakMap<Datasets<D>, PreparedData<D>>();
  /** Moves an earlier run aside. */
  #makeRoom: () => void = () => undefined;

  constructor(
    options: ExperimentOptions<D>,
    models: readonly PlannedModel<D>[],
    hooks: PipelineHooks,
    { resume = false, signal }: RunExperimentOptions,
  ) {
    this.#options = options;
    this.#models = models;
    this.#hooks = hooks;
    this.#resume = resume;
    this.#signal = signal;
    const warn = options.warn ?? ((message: string) => this.#platform.warn(message));
    this.#state = new OuterState((message) => warn(safeText(redact(message, secretsOfEnvironment()))));
  }

  async run(): Promise<ExperimentResult> {
    const strategy = await openStrategy(this.#options.strategy ?? "auto");
    this.#agreement = new Agreement(strategy);
    this.#state.rank = strategy.rank;
    await this.#agreement.compareStarts(this.#startFacts());
    this.#progress = await this.#open();
    // A complete run has nothing left to do.
    if (this.#progress.isComplete(this.#models)) return this.#progress.result(this.#models, this.#allDone(), []);
    const { signals = true, signalGrace = 30_000 } = this.#options;
    this.#interruptions = new Interruptions(this.#platform, this.#signal, signals ? signalGrace : undefined);
    try {
      const ending = (await this.#stages()) ?? this.#allDone();
      await this.#progress.end(ending);
      this.#interruptions.setExitCode(ending.status === "interrupted" ? ending : undefined);
      return this.#progress.result(this.#models, ending, this.#state.failures);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const reason = redact(message, secretsOfEnvironment());
      // The caller gets the failure itself, even if writing fails too. After losing its lock, the run must not write: the
      // directory belongs to another process.
      if (!isLockLost(error))
        await this.#progress.end({ status: "error", reason, requestedBy: "" }).catch(() => undefined);
      throw error;
    } finally {
      this.#interruptions.stopListening();
      await this.#platform.rethrowUncaught();
    }
  }

  /** Trainers compare the rest, including the data, when they start. */
  #startFacts(): StartFacts {
    const { name = "experiment", seed = 0 } = this.#options;
    return {
      experiment: name,
      "`seed`": String(seed),
      "`resume`": this.#resume === false ? "none" : "one",
      models: this.#models.map((model) => model.name).join(", "),
      ...Object.fromEntries(
        this.#models.map((model) => [`parameters of model \`${model.name}\``, JSON.stringify(model.params)]),
      ),
    };
  }

  /** Reads what an earlier run has left. */
  async #open(): Promise<Progress> {
    const { name = "experiment", seed = 0, runDir } = this.#options;
    if (runDir === undefined) return new Progress(name, seed, undefined);
    // Only the main process writes files.
    const isMain = this.#agreement.strategy.rank === 0;
    if (!this.#resume && !isMain) return new Progress(name, seed, undefined);
    if (!this.#resume) {
      const folders = this.#models.map((model) => model.runDir!);
      this.#makeRoom = await roomFor(runDir, folders, this.#state.warn);
      return new Progress(name, seed, runDir);
    }
    if (isMain) this.#checkUnlocked();
    const before = await readResults(runDir);
    if (before && before.seed !== seed) {
      throw new OptionError(
        `Experiment: the run in ${runDir} has the seed ${before.seed}, this one ${seed}: it would split the data in another way. Resume with the same \`seed\`.`,
      );
    }
    const progress = new Progress(name, seed, isMain ? runDir : undefined, before);
    for (const { name: model, plan } of this.#models) {
      const saved = progress.of(model);
      if (saved && trainsOn(plan, saved)) progress.reopen(model);
    }
    return progress;
  }

  /** Another process that trains there writes its own results, which this run must not replace. */
  #checkUnlocked(): void {
    for (const { runDir } of this.#models) checkUnlocked(`${runDir!}/${CHECKPOINTS}`);
  }

  /** Why the run ends early; undefined when all is done. */
  async #stages(): Promise<Ending | undefined> {
    const { data: readData, seed = 0 } = this.#options;
    const early = await this.#over();
    if (early) return early;
    // Data that hangs must not keep the process from stopping.
    const read = await this.#interruptions.orSooner((async () => ({ data: await readData() }))());
    const over = await this.#over();
    if (over || !read) return over;
    const data = await this.#dataRead(read.data);
    const stopped = await this.#over();
    if (stopped) return stopped;
    const { main, folds = [] } = await this.#split(data, seed);
    for (const model of this.#models) checkMonitors(model, main, folds.length);
    const { preprocessor } = this.#prepareMain(main);
    checkUnchanged(this.#options.runDir ?? "", this.#progress.preprocessor, preprocessor);
    this.#progress.preprocessor = preprocessor?.fingerprint;
    // The run starts here: hooks may write to its directory.
    this.#makeRoom();
    await this.#hooks.fire("datasetCreated", this.#state, () => ({ ...this.#common(), datasets: main, folds }));
    await this.#progress.begin();
    await this.#checkAhead(main, folds.length);
    for (const model of this.#models) {
      const ending = (await this.#over()) ?? (await this.#model(model, main, folds));
      if (ending) return ending;
    }
    return this.#over();
  }

  /** Checks data, models and monitors without training; resolves to what was found for each model. */
  async preflight(): Promise<Record<string, ModelPreflight>> {
    // Every process of a group would find the same.
    this.#agreement = new Agreement(await openStrategy("single"));
    const data = await this.#dataRead(await this.#options.data());
    const { stop } = this.#state;
    if (stop) throw new OptionError(`Hook \`${stop.requestedBy}\` would stop the experiment: ${stop.reason}`);
    const { main, folds = [] } = await this.#split(data, this.#options.seed ?? 0);
    const { preprocessor } = this.#prepareMain(main);
    const found: Record<string, ModelPreflight> = {};
    for (const model of this.#models) {
      checkMonitors(model, main, folds.length);
      found[model.name] = { ...(await this.#check(model, main)), ...(preprocessor && { preprocessor }) };
    }
    return found;
  }

  /**
   * Checks trainings that start after others, except those that may depend on the earlier ones: a model made from an earlier
   * one, or user loaders that can be read only once.
   */
  async #checkAhead(main: Datasets<D>, folds: number): Promise<void> {
    if (this.#models.length === 1 && folds === 0) return;
    for (const model of this.#models) {
      const { model: given, loaders } = model.plan;
      const isLater = this.#models.length > 1 && typeof given === "function";
      if (!isLater && !loaders && !this.#progress.of(model.name)?.complete) await this.#check(model, main);
    }
  }

  async #check(model: PlannedModel<D>, main: Datasets<D>): Promise<Preflight> {
    const { trainer } = await this.#prepare(model, main, model.runDir);
    try {
      return await trainer.preflight();
    } finally {
      await trainer.close();
    }
  }

  /** Hooks see the data that was read, and may replace it. */
  async #dataRead(read: D): Promise<D> {
    let data = read;
    const returned = (value: unknown, { ranks }: Hook): void => {
      if (value === undefined) return;
      if (ranks === "main" && this.#agreement.strategy.size > 1) throw new OptionError(ONLY_MAIN_HAS_IT);
      data = value as D;
    };
    await this.#hooks.fire("dataRead", this.#state, () => ({ ...this.#common(), data }), { returned });
    return data;
  }

  async #split(data: D, seed: number): Promise<SplitData<D>> {
    const { split } = this.#options;
    if (!split) return { main: { train: data } };
    const parts = (await split(data, seed)) as SplitData<D> | undefined;
    if (parts?.main?.train !== undefined) return parts;
    throw new OptionError(
      `Experiment: Expected \`split\` to return { main: { train, val, test } }, or also { folds: [{ train, val }] }, got ${show(parts)}`,
    );
  }

  /** Trains the folds, then the main model, and evaluates it. */
  async #model(model: PlannedModel<D>, main: Datasets<D>, folds: readonly Datasets<D>[]): Promise<Ending | undefined> {
    const before = this.#progress.of(model.name);
    if (before?.complete) return undefined;
    for (const [i, fold] of folds.entries()) {
      if (before?.foldResults?.[i]) continue;
      const ending = (await this.#over()) ?? (await this.#fold(model, fold, i + 1));
      if (ending) return ending;
    }
    const over = await this.#over();
    if (over) return over;
    const training = await this.#prepare(model, main, model.runDir);
    return this.#closing(training, () => this.#main(model, training, before));
  }

  async #fold(model: PlannedModel<D>, fold: Datasets<D>, number: number): Promise<Ending | undefined> {
    const dir = model.runDir === undefined ? undefined : foldDirectory(model.runDir, number);
    const training = await this.#prepare(model, fold, dir);
    return this.#closing(training, async () => {
      const result = await training.fit(this.#fitOptions("auto"));
      if (result.status === "interrupted") return ended(result);
      await this.#progress.foldDone(model.name, model.params, await training.evaluate());
      return undefined;
    });
  }

  async #main(model: PlannedModel<D>, training: Training<D>, before?: SavedModel): Promise<Ending | undefined> {
    const { name, params, runDir, pipeline } = model;
    const { trainer: trained } = training;
    const from = typeof this.#resume === "string" ? this.#resume : "auto";
    const result = await training.fit(this.#fitOptions(from, before));
    if (result.status === "interrupted") return ended(result);
    await this.#progress.trained(name, params, result, training.checkpoints);
    const common = () => ({ ...this.#common(), runDir, model: name, params, trained });
    await pipeline.fire("trainingComplete", this.#state, () => ({ ...common(), result }));
    const stopped = await this.#over();
    if (stopped) return stopped;
    const results = await training.evaluate();
    const check = (): void => void checkResults("ctx.results", results);
    await pipeline.fire("evaluationComplete", this.#state, () => ({ ...common(), results }), { returned: check });
    await this.#progress.complete(name, results);
    return undefined;
  }

  /** Once for all models: their main training has the same data. */
  #prepareMain(main: Datasets<D>): PreparedData<D> {
    const prepared = prepareDatasets(this.#options.preprocess, main);
    this.#prepared.set(main, prepared);
    if (prepared.preprocessor) this.#shared.set(fittedPreprocessor, prepared.preprocessor);
    return prepared;
  }

  #prepare(model: PlannedModel<D>, datasets: Datasets<D>, runDir: string | undefined): Promise<Training<D>> {
    const { off, warn } = this.#state;
    const { loader, config = this.#options } = this.#options;
    const context = { runDir, shared: this.#shared, loader, config, off, warn, agreement: this.#agreement };
    // The arrays of a fold are made when it is trained: all of them at once would be many times the data.
    const prepared = this.#prepared.get(datasets) ?? prepareDatasets(this.#options.preprocess, datasets);
    return Training.prepare(model, prepared, context);
  }

  async #closing<T>(training: Training<D>, work: () => Promise<T>): Promise<T> {
    try {
      return await training.closing(work);
    } finally {
      this.#progress.hasTrained ||= training.trained;
    }
  }

  /** A training that had ended before its evaluation is restored and does no further step. */
  #fitOptions(from: string, before?: SavedModel): FitOptions {
    const signal = this.#signal && { signal: this.#signal };
    if (!this.#resume) return { ...signal };
    if (before?.training && before.ended !== undefined)
      return { ...signal, resume: before.ended, steps: before.training.steps };
    return { ...signal, resume: from };
  }

  #common() {
    const { name = "experiment", seed = 0, runDir } = this.#options;
    return { experiment: name, seed, runDir, shared: this.#shared };
  }

  /** Why nothing more may start: a hook's stop or a signal, agreed on by the process group. */
  async #over(): Promise<Ending | undefined> {
    // Signals that arrived during synchronous work are delivered now.
    await this.#platform.yieldToEvents();
    const { stop } = this.#state;
    const interruption = this.#interruptions.now();
    return this.#agreement.first<Ending>(
      stop ? { status: "stopped", ...stop } : interruption && { status: "interrupted", ...interruption },
    );
  }

  #allDone(): Ending {
    const { length } = this.#models;
    return { status: "completed", reason: length === 1 ? "1 model" : `${length} models`, requestedBy: "" };
  }
}

const ended = ({ status, reason, requestedBy }: Ending): Ending => ({ status, reason, requestedBy });
