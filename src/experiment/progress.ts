// The progress of an experiment: the state of each model, written to results.json after every part.
import type { Json } from "../core/options.ts";
import type { HookFailure } from "../core/hook.ts";
import type { RunResult } from "../core/loop/result.ts";
import type { PlannedModel } from "./experiment-options.ts";
import {
  writeResults,
  type FoldStats,
  type SavedModel,
  type SavedResults,
  type TrainingSummary,
} from "../runs/results.ts";
import type { ExperimentResult, ModelResult } from "./types.ts";

type Planned = Pick<PlannedModel<unknown>, "name" | "runDir">;
type Numbers = Readonly<Record<string, number>>;
export type Ending = Pick<SavedResults, "status" | "reason" | "requestedBy">;

const RUNNING: Ending = { status: "running", reason: "", requestedBy: "" };

export class Progress {
  readonly #name: string;
  readonly #seed: number;
  readonly #dir: string | undefined;
  readonly #startedAt: number;
  readonly #models: Record<string, SavedModel>;
  #ending = RUNNING;
  /** A failure before this, such as one of reading the data, leaves no directory behind. */
  #begun: boolean;
  /** Whether any training did a step. */
  hasTrained: boolean;
  /** The fingerprint of what the main training data was preprocessed with. */
  preprocessor: string | undefined;

  /** Continues from `before`, the results of an earlier run. */
  constructor(name: string, seed: number, dir: string | undefined, before?: SavedResults) {
    this.#name = name;
    this.#seed = seed;
    this.#dir = dir;
    this.#startedAt = before?.startedAt ?? Date.now();
    this.#models = { ...before?.models };
    this.#begun = before !== undefined;
    this.hasTrained = before !== undefined && !before.untrained;
    this.preprocessor = before?.preprocessor;
  }

  of(model: string): SavedModel | undefined {
    return Object.hasOwn(this.#models, model) ? this.#models[model] : undefined;
  }

  /** A complete model trains further: its results are replaced when that training has ended. */
  reopen(model: string): void {
    const { params, checkpoint } = this.of(model)!;
    this.#models[model] = { complete: false, params, ...(checkpoint !== undefined && { checkpoint }) };
  }

  isComplete(models: readonly Planned[]): boolean {
    return models.every(({ name }) => this.of(name)?.complete);
  }

  begin(): Promise<void> {
    this.#begun = true;
    return this.#write();
  }

  async foldDone(model: string, params: SavedModel["params"], results: Numbers): Promise<void> {
    const before = this.of(model);
    await this.#put(model, { complete: false, params, foldResults: [...(before?.foldResults ?? []), results] });
  }

  async trained(
    model: string,
    params: Readonly<Record<string, Json>>,
    result: RunResult,
    checkpoints: Pick<SavedModel, "ended" | "checkpoint">,
  ): Promise<void> {
    const { foldResults, training } = this.of(model) ?? {};
    await this.#put(model, {
      complete: false,
      params,
      ...(foldResults && { foldResults }),
      // A training that was restored only for its evaluation keeps its first summary.
      training: training ?? summaryOf(result),
      ...checkpoints,
    });
  }

  async complete(model: string, results: Numbers): Promise<void> {
    const { foldResults, ...rest } = this.of(model)!;
    const folds = foldResults && { folds: foldStats(foldResults), foldResults };
    await this.#put(model, { ...rest, complete: true, results, ...folds });
  }

  async end(ending: Ending): Promise<void> {
    this.#ending = ending;
    await this.#write();
  }

  /** The result of an experiment that did not fail. */
  result(models: readonly Planned[], ending: Ending, hookErrors: readonly HookFailure[]): ExperimentResult {
    const { status, reason, requestedBy } = ending;
    const done = models.flatMap(({ name, runDir }) => {
      const saved = this.of(name);
      return saved?.complete ? [[name, modelResult(name, saved, runDir)] as const] : [];
    });
    return {
      name: this.#name,
      status: status as ExperimentResult["status"],
      reason,
      requestedBy,
      models: Object.fromEntries(done),
      hookErrors: [...hookErrors],
    };
  }

  async #put(model: string, saved: SavedModel): Promise<void> {
    this.#models[model] = saved;
    await this.#write();
  }

  async #write(): Promise<void> {
    if (this.#dir === undefined || !this.#begun) return;
    const isRunning = this.#ending === RUNNING;
    await writeResults(this.#dir, {
      name: this.#name,
      ...this.#ending,
      seed: this.#seed,
      ...(this.preprocessor !== undefined && { preprocessor: this.preprocessor }),
      startedAt: this.#startedAt,
      endedAt: isRunning ? null : Date.now(),
      ...(!isRunning && !this.hasTrained && { untrained: true }),
      models: this.#models,
    });
  }
}

function modelResult(model: string, saved: SavedModel, runDir: string | undefined): ModelResult {
  const { params, training, checkpoint, results, folds } = saved;
  return { model, params, training: training!, checkpoint, results: results!, ...(folds && { folds }), runDir };
}

function summaryOf(result: RunResult): TrainingSummary {
  const { status, reason, requestedBy, steps, skippedSteps, epochs, elapsed, metrics, engine } = result;
  return { status, reason, requestedBy, steps, skippedSteps, epochs, elapsed, metrics, engine };
}

/** Mean and standard deviation over the folds of each metric that every fold has. */
function foldStats(results: readonly Readonly<Record<string, number>>[]): Record<string, FoldStats> {
  const names = Object.keys(results[0] ?? {}).filter((name) => results.every((each) => Object.hasOwn(each, name)));
  return Object.fromEntries(names.map((name) => [name, statsOf(results.map((each) => each[name]!))]));
}

function statsOf(values: readonly number[]): FoldStats {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, std: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0 };
}
