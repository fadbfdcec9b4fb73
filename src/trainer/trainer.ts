// The Trainer: what a user holds. It joins model, data, optimizers, engine and hooks, and brackets every call with init and close.
import { safeText } from "../core/safe-text.ts";
import { type ArrayInput, type HostArray, sizeOf, toBatch } from "../core/arrays.ts";
import type { LoadedStateDict, LoadStateDictOptions } from "../checkpoint/formats/state-dict.ts";
import { Limits, batchesAllowed } from "../core/loop/counters.ts";
import { boundaryRule, type Cadence } from "../core/cadence.ts";
import type { ContextOf } from "../core/context.ts";
import { type OnArguments, addFunction } from "../core/registry/on.ts";
import { type Disposer, HookRegistry } from "../core/registry/registry.ts";
import { evaluateOnce } from "../core/loop/evaluate.ts";
import type { CustomEvents, EventName } from "../core/events.ts";
import type { HostTensors, Loader } from "../core/model.ts";
import { type Loop, runLoop } from "../core/loop/loop.ts";
import type { ParamsView } from "../core/inspection.ts";
import { checkOptions, is } from "../core/options.ts";
import { redact, secretsOfEnvironment } from "../platform/redact.ts";
import { makeResult, type RunResult } from "../core/loop/result.ts";
import { Run } from "../core/loop/run.ts";
import { NOT_STARTED, notStarted } from "../core/loop/session.ts";
import { epochLength, stepsPerEpoch } from "../data/epoch-length.ts";
import { LoaderSet } from "../data/loader-set.ts";
import { currentPlatform } from "../platform/platform.ts";
import { Interruptions } from "./interruptions.ts";
import { Calls } from "./calls.ts";
import { checkAllMonitors, metricNames, type Preflight, traceLoaders } from "./preflight.ts";
import { batchToProbe, checkLoader, checkLossWeights, evalFeeds, fittedLoss, standaloneFeed } from "./feeds.ts";
import type { WatchedFeed } from "./feeds.ts";
import { chooseLayering } from "./layered/choose.ts";
import { Session } from "./session.ts";
import { Initial } from "./initial.ts";
import { Once } from "./once.ts";
import { OptimizerSet } from "./optimizers.ts";
import { RunCheckpoints } from "./saving/run-checkpoints.ts";
import { Saver } from "./saving/saver.ts";
import type { TrainingState } from "./saving/snapshot.ts";
import { checkFitOptions, checkTrainerOptions, withModelDefaults } from "./options.ts";
import type { FitOptions, TrainerOptions } from "./options.ts";
import { choosePlan, describePlan } from "./specs.ts";
import { predictAll, type PredictOptions } from "./predict.ts";
import { type Problem, defineProblem, describeParams } from "./problem.ts";
import type { ProbedRun, RunWithProbesOptions } from "./inspection/probe-runner.ts";
import { GroupMembership } from "./group-membership.ts";

/** Runs the loop. Everything else is a hook, what ships in the box too. */
export class Trainer {
  /** Registration, order and cost of hooks. */
  readonly hooks: HookRegistry;
  readonly options: TrainerOptions;
  readonly #platform = currentPlatform();
  readonly #seed: number;
  readonly #problem: Problem;
  readonly #feed: LoaderSet;
  readonly #evals: readonly WatchedFeed[];
  readonly #run: Run;
  readonly #warn: (message: string) => void;
  readonly #calls: Calls;
  readonly #loopOptions: Pick<Loop, "evals" | "evalEvery" | "logEvery" | "evalAtStart" | "limitBatches" | "warn">;
  readonly #place: RunCheckpoints;
  readonly #saver: Saver;
  readonly #membership: GroupMembership;
  readonly #initial: Initial;
  #optimizers: OptimizerSet;
  /** One for all calls: a second would have parameters of its own. */
  readonly #session = new Once(() => this.#open());
  #loadersChecked = false;
  readonly #evalLoop = (session: Session) => ({ run: this.#run, hooks: this.hooks, session, seed: this.#seed });

  constructor(given: TrainerOptions) {
    checkTrainerOptions(given);
    const options = withModelDefaults(given);
    this.options = options;
    this.#seed = options.seed ?? 0;
    const warn = options.warn ?? ((message: string) => this.#platform.warn(message));
    // What a hook throws may quote a URL or a header, and warnings end up in files.
    this.#warn = (message) => warn(safeText(redact(message, secretsOfEnvironment())));
    this.#problem = defineProblem(options, fittedLoss(options), chooseLayering(options));
    this.#initial = new Initial(() => this.#problem.init(this.#seed));
    this.#feed = new LoaderSet(options.train, options.mix);
    const length = epochLength(this.#feed);
    const limitBatches = batchesAllowed(options.limitBatches, "train", length, "the training data");
    checkLossWeights(options.lossWeights ?? {}, this.#feed.names);
    this.#evals = evalFeeds(options);
    this.#loopOptions = {
      evals: this.#evals,
      evalEvery: boundaryRule("evalEvery", options.evalEvery ?? "1 epoch"),
      logEvery: boundaryRule("logEvery", options.logEvery ?? 10),
      evalAtStart: options.evalAtStart ?? false,
      limitBatches,
      warn: this.#warn,
    };
    this.#optimizers = this.#makeOptimizers();
    this.#run = this.#makeRun();
    this.#run.accumulate = options.accumulate ?? 1;
    if (length !== undefined) this.#run.epochBatches = Math.min(length, limitBatches);
    // As far as it is known before fit() has its say: cadences in percent ask for it, in explainPlan() and evaluate() too.
    if (options.epochs !== undefined || options.steps !== undefined)
      this.#run.totalSteps = new Limits(options).totalSteps(this.#stepsPerEpoch());
    this.hooks = new HookRegistry(this.#run, this.#warn);
    this.hooks.addAll(options.hooks ?? []);
    this.#place = new RunCheckpoints(options, this.#warn);
    this.#membership = new GroupMembership(options.strategy ?? "auto", {
      run: this.#run,
      hooks: this.hooks,
      place: this.#place,
      platform: this.#platform,
      state: () => this.#started().state,
    });
    const { save = "async", maxRollbacks = 3, closeTimeout: deadline = 10_000 } = options;
    this.#saver = new Saver(this.#trainingState(), this.#place, { save, maxRollbacks, deadline }, this.#warn);
    this.#calls = new Calls(this.hooks, this.#run, deadline, this.#place);
  }

  /** Trains until a limit, a stop or an interruption. A second call continues towards its own limits. */
  async fit(options: FitOptions = {}): Promise<RunResult> {
    checkFitOptions(options);
    this.#checkMonitors();
    const { restart, resume: _resume, signal, ...given } = options;
    const limits = new Limits({ ...this.options, ...given });
    const train = async (): Promise<void> => {
      if (restart) await this.#restart();
      const run = this.#run;
      run.reopen();
      const { signals = true, signalGrace = 30_000 } = this.options;
      const interruptions = new Interruptions(this.#platform, signal, signals ? signalGrace : undefined);
      const rescue = async (failure: unknown): Promise<void> => {
        this.#session.now?.step.dropOpenStep();
        await this.#saver.emergency(failure);
      };
      try {
        const body = () => this.#train(limits, interruptions, options);
        await this.#calls.training(() => this.#membership.announcingFailure(body), rescue);
      } finally {
        interruptions.stopListening();
        await this.#releasePreviews();
      }
      interruptions.setExitCode(run.interruption);
    };
    // An uncaught error ends the process once everything is saved and closed.
    await this.#call("fit", train).finally(() => this.#platform.rethrowUncaught());
    return makeResult(this.#run, this.hooks);
  }

  /**
   * Finds mistakes before anything is trained: metrics that are watched but that nothing provides, and batches that do
   * not fit the model, the loss or the metrics. Traces the first batch of every loader, and computes nothing. A `fit`
   * that follows begins with these batches; without this call, `fit` makes the same checks by itself.
   */
  async preflight(): Promise<Preflight> {
    this.#calls.mustBeIdle("preflight");
    this.#checkMonitors();
    const batches = await this.#traceAll(this.#run.clock.now.step === 0);
    return { batches, metrics: this.#metricNames(), parameters: this.summary() };
  }

  /** Evaluates a loader on its own: metrics come out as `test/…`, and the training run does not see them. */
  async evaluate(loader: Loader, options: { readonly name?: string } = {}): Promise<Record<string, number>> {
    return this.#call("evaluate", async () => {
      checkOptions("evaluate", options, { name: is.name });
      const feed = standaloneFeed(loader, options.name);
      const loop = this.#evalLoop(await this.#start());
      await this.#membership.compareStarts(({ loaderFacts }) => loaderFacts([feed], this.#seed, true));
      return this.#calls.standalone("standalone", () => evaluateOnce(loop, feed));
    });
  }

  /**
   * The model's outputs over a loader, joined along the first dimension. With `collect: false` they are not kept: for
   * data whose outputs would not fit into memory, with a hook such as predictionWriter() that takes them batch by batch.
   */
  async predict(loader: Loader, options: { readonly collect: false }): Promise<undefined>;
  async predict(loader: Loader, options?: PredictOptions): Promise<HostArray | HostTensors>;
  async predict(loader: Loader, options: PredictOptions = {}): Promise<HostArray | HostTensors | undefined> {
    return this.#call("predict", async () => {
      checkOptions("predict", options, { collect: is.boolean });
      checkLoader("predict", loader);
      const loop = this.#evalLoop(await this.#start());
      return this.#calls.standalone("predict", () => predictAll(loop, loader, options.collect ?? true));
    });
  }

  /**
   * Runs the model on one batch and returns its outputs with activations from inside, as host arrays. Nothing stays
   * registered, hooks do not see it, and it may be called at any time, in a hook too.
   * @example (await trainer.runWithProbes(batch, { match: "*.attn.pattern" })).activations.get("blocks.0.attn.pattern")
   */
  async runWithProbes(
    batch: Readonly<Record<string, ArrayInput>>,
    options: RunWithProbesOptions = {},
  ): Promise<ProbedRun> {
    const given = toBatch(batch, () => "runWithProbes: the caller");
    return (await this.#start()).probes.run(given, options);
  }

  /** Names of the points that probes can see, in the order of the program. Default batch: the last one, or a first one. */
  async probePoints(batch?: Readonly<Record<string, ArrayInput>>): Promise<readonly string[]> {
    const { probes } = await this.#start();
    if (batch) return probes.points(toBatch(batch, () => "probePoints: the caller"));
    return probes.points(await batchToProbe(this.#run, this.#evals, this.#feed, this.#seed));
  }

  /**
   * The parameters on the engine, as hooks have them in `ctx.params`: before, between and after calls of `fit`, and while
   * one runs. Good until the trainer is closed or starts over.
   */
  async params(): Promise<ParamsView> {
    return (await this.#start()).params;
  }

  /** Parameters and buffers by name, as host copies. */
  async stateDict(): Promise<HostTensors> {
    return (await this.#start()).state.stateDict();
  }

  /**
   * Replaces parameters and buffers. Every name and shape must fit, unless `strict` is false; `prefix` and `rename` help
   * where only names differ. Returns what the model has and the tensors lack, and the other way round.
   * @example await trainer.loadStateDict(await readWeights("lightning.ckpt"), { prefix: "model." })
   */
  async loadStateDict(tensors: HostTensors, options: LoadStateDictOptions = {}): Promise<LoadedStateDict> {
    this.#calls.mustBeIdle("loadStateDict");
    return (await this.#start()).state.loadWith(tensors, options);
  }

  /** Ends a pause of `fit`, which a hook began with `ctx.pause`. Does nothing when the run is not paused. */
  readonly continue = (): void => this.#run.continue();

  /** Calls `fn` at an event, now and then if a cadence is given. Returns the undo, which also works with `using`. */
  on<E extends EventName>(event: E, fn: (ctx: ContextOf<E>) => unknown): Disposer;
  on<E extends EventName>(event: E, cadence: Cadence, fn: (ctx: ContextOf<E>) => unknown): Disposer;
  on(event: EventName, ...rest: OnArguments): Disposer {
    return addFunction(this.hooks, event, ...rest);
  }

  /** Fires a custom event, defined with `defineEvent`. */
  emit<E extends keyof CustomEvents & string>(event: E, payload: CustomEvents[E]): void | Promise<void> {
    return this.hooks.fireCustom(event, payload);
  }

  /** Which plan the next step follows, and because of which hook. */
  explainPlan(): string {
    const clips = this.options.clipNorm !== undefined || this.options.clipValue !== undefined;
    const plan = choosePlan(this.hooks, this.#run.accumulate, clips, this.#membership.group?.size);
    return describePlan(plan, this.hooks, this.#problem.layering);
  }

  /** A table of the parameters. */
  summary(): string {
    return describeParams(this.#initial, this.#problem.base);
  }

  /** Frees what lives on the device. The trainer can be used again, and then starts over. */
  async close(): Promise<void> {
    this.#calls.mustBeIdle("close");
    await this.#restart();
    await this.#place.close();
    await this.#releasePreviews();
    await this.#feed.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #train(limits: Limits, interruptions: Interruptions, options: FitOptions): Promise<void> {
    const run = this.#run;
    run.totalSteps = limits.totalSteps(this.#stepsPerEpoch());
    run.totalEpochs = Number.isFinite(limits.epochs) ? limits.epochs : undefined;
    const session = await this.#start();
    await this.#membership.compareStarts(({ startFacts }) =>
      startFacts({
        options: this.options,
        fit: options,
        train: this.#feed.loaders,
        evals: this.#evals,
        optimizers: this.#optimizers,
        device: session.state,
        step: run.clock.now.step,
        totals: run,
      }),
    );
    // In a process group the ranks exchange interruptions first, so that all end at the same step.
    if (!run.group) interruptions.listen((interruption) => run.interrupt(interruption));
    // A resumed run begins elsewhere in the training data.
    if (!this.#loadersChecked) await this.#traceAll(run.clock.now.step === 0 && options.resume === undefined);
    // Before any hook: loggers move and cut the files of earlier runs when training begins.
    await this.#place.claim();
    await this.hooks.fire.init!();
    if (this.#place.runId === "") this.#place.begin();
    if (options.resume !== undefined) await this.#saver.resume(options.resume);
    run.startTimer();
    await this.#membership.begin(interruptions.now);
    await runLoop({ ...this.#evalLoop(session), ...this.#loopOptions, limits });
    await this.#membership.end();
  }

  #checkMonitors(): void {
    checkAllMonitors(this.hooks, this.#optimizers, this.#metricNames(), this.#evals.length > 0);
  }

  #metricNames(): string[] {
    const evals = this.#evals.map(({ name }) => name);
    return metricNames(this.options.metrics ?? {}, evals);
  }

  /** Traces the first batch of each evaluation loader, and of each training loader unless the run is under way. */
  async #traceAll(trains: boolean): Promise<Preflight["batches"]> {
    const { metrics = {} } = this.options;
    const parts = { problem: this.#problem, initial: this.#initial, metrics, hooks: this.hooks };
    const loaders = { train: trains ? this.#feed.loaders : [], eval: this.#evals };
    const batches = await traceLoaders(parts, loaders, this.#seed);
    this.#loadersChecked = true;
    return batches;
  }

  async #releasePreviews(): Promise<void> {
    for (const { loader } of [...this.#feed.loaders, ...this.#evals]) await loader.release();
  }

  #trainingState(): TrainingState {
    return {
      run: this.#run,
      hooks: this.hooks,
      feed: this.#feed,
      options: { accumulate: this.options.accumulate ?? 1, seed: this.#seed },
      share: (find) => this.#membership.share(find),
      session: () => this.#started(),
      optimizers: () => this.#optimizers,
      model: () => ({ problem: this.#problem, initial: this.#initial, runDir: this.options.runDir }),
    };
  }

  async #call<T>(name: string, body: () => Promise<T>): Promise<T> {
    try {
      return await this.#calls.bracket(name, body);
    } catch (error) {
      await this.#membership.failed(error);
      throw error;
    }
  }

  async #start(): Promise<Session> {
    return (this.#run.session = await this.#session.get());
  }

  async #open(): Promise<Session> {
    return Session.open({
      options: this.options,
      initial: this.#initial,
      problem: this.#problem,
      optimizers: this.#optimizers,
      run: this.#run,
      hooks: this.hooks,
      loaders: this.#feed,
      saver: this.#saver,
      group: await this.#membership.join(),
      warn: this.#warn,
    });
  }

  #started(): Session {
    return this.#session.now ?? notStarted();
  }

  async #restart(): Promise<void> {
    this.#optimizers = this.#makeOptimizers();
    this.#run.restart();
    this.#place.begin();
    this.#saver.reset();
    this.#run.accumulate = this.options.accumulate ?? 1;
    // Last, since it waits: a session that is requested meanwhile is one of the new start.
    this.#run.session = NOT_STARTED;
    await (await this.#session.take())?.close();
  }

  #makeOptimizers(): OptimizerSet {
    const params = Object.keys(this.#initial.params);
    return new OptimizerSet(this.options.optimizer, this.options.schedule, params, this.#feed.names);
  }

  #makeRun(): Run {
    return new Run({
      model: this.options.model,
      config: this.options as unknown as Readonly<Record<string, unknown>>,
      seed: this.#seed,
      shared: this.options.shared,
      paramCount: () => Object.values(this.#initial.params).reduce((sum, { shape }) => sum + sizeOf(shape), 0),
      optimizersFor: (turn) => this.#optimizers.live(turn, () => this.#started().state),
      checkpointsFor: (hook) => this.#saver.view(hook),
    });
  }

  #stepsPerEpoch(): number | undefined {
    return stepsPerEpoch(this.#feed, {
      // As given, not as a hook has it now: the length of the run must not depend on when one asks.
      accumulate: this.options.accumulate ?? 1,
      held: this.#optimizers.tied,
      limit: this.#loopOptions.limitBatches,
    });
  }
}
