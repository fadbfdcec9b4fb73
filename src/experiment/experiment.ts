// The Experiment: reads data, splits it, trains each model on it and evaluates it, with an event after each part.
import { ContextError, OptionError } from "../core/errors.ts";
import { checkOptions, is } from "../core/options.ts";
import type { Arrays } from "../data/source.ts";
import { ExperimentRun } from "./experiment-run.ts";
import { PipelineHooks, type PlannedModel, planModels } from "./experiment-options.ts";
import type { ExperimentOptions, ExperimentResult, ModelPreflight, RunExperimentOptions } from "./types.ts";

const RUN_CHECKS = {
  resume: is.or(is.boolean, is.name),
  signal: { expected: "an AbortSignal", test: (v: unknown) => v instanceof AbortSignal },
};

/**
 * @example
 * const experiment = new Experiment({
 *   data: () => readDigits(),
 *   split: holdout({ val: 0.1, test: 0.1 }),
 *   model: sequential(linear(784, 256), relu(), linear(256, 10)),
 *   loss: crossEntropy(),
 *   metrics: { accuracy: accuracy() },
 *   optimizer: adamw({ lr: 1e-3 }),
 *   epochs: 5,
 *   runDir: "runs/digits",
 *   hooks: [modelCheckpoint({ monitor: "val/loss" })],
 * });
 * const { models } = await experiment.run();
 * console.log(models.model.results["test/accuracy"]);
 */
export class Experiment<D = Arrays> {
  readonly options: ExperimentOptions<D>;
  readonly #models: readonly PlannedModel<D>[];
  readonly #hooks: PipelineHooks;
  #running = false;

  constructor(options: ExperimentOptions<D>) {
    this.#models = planModels(options);
    this.#hooks = new PipelineHooks(options.hooks ?? []);
    this.options = options;
  }

  /**
   * Finds mistakes before anything is trained: reads the data, splits it, and runs `trainer.preflight()` for the main training
   * of each model. Only the `onDataRead` of hooks is called. Nothing is written.
   */
  async preflight(): Promise<Record<string, ModelPreflight>> {
    return this.#alone("preflight", (run) => run.preflight(), {});
  }

  /**
   * Runs the experiment from the start, or with `resume` from where an earlier run in its directory stopped; a complete run
   * trains further if `epochs` or `steps` allow more. Without `resume`, an earlier run that has ended is moved aside:
   * `runs/digits` becomes `runs/digits.1`.
   */
  async run(options: RunExperimentOptions = {}): Promise<ExperimentResult> {
    checkOptions("run", options, RUN_CHECKS);
    if (options.resume && this.options.runDir === undefined)
      throw new OptionError("run: `resume` needs the experiment's `runDir`: that is where the earlier run is.");
    if (typeof options.resume === "string" && this.#models.length > 1)
      throw new OptionError("run: `resume` is a checkpoint, but there are several models. Say `resume: true`.");
    return this.#alone("run", (run) => run.run(), options);
  }

  /** Hooks take part in one training at a time. */
  async #alone<T>(
    name: string,
    call: (run: ExperimentRun<D>) => Promise<T>,
    options: RunExperimentOptions,
  ): Promise<T> {
    if (this.#running) throw new ContextError(`${name}() was called while it is running. Await that call first.`);
    this.#running = true;
    try {
      return await call(new ExperimentRun(this.options, this.#models, this.#hooks, options));
    } finally {
      this.#running = false;
    }
  }
}
