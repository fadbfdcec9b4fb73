// The trainer's options: their types, their defaults and their checks.
import type { CheckpointStore } from "../checkpoint/store.ts";
import { type BatchLimit, LIMIT_CHECKS, type LimitOptions } from "../core/loop/counters.ts";
import type { Cadence } from "../core/cadence.ts";
import { OptionError } from "../core/errors.ts";
import type { Hook } from "../core/hook.ts";
import type { AnyMetric, HostBatch, Loader, Loss, LossModel, Model, ModelDefaults, WeighFn } from "../core/model.ts";
import { checkOptions, is, show, type Check } from "../core/options.ts";
import type { Schedule } from "../core/optimizer.ts";
import { Shared } from "../core/shared.ts";
import type { MixOptions } from "../data/mix.ts";
import { type Strategy, type StrategyName, checkStrategy } from "../distributed/strategy.ts";
import type { Engine, Precision } from "../engines/engine.ts";
import { checkEngine, checkEngineOptions, type EngineName } from "../engines/select.ts";
import type { OptimizerOption } from "./optimizers.ts";
import type { InputsFn } from "./problem.ts";

/** Options of `Trainer`. */
export interface TrainerOptions extends LimitOptions {
  /** A model (`init`, `apply`) with `loss`, or `{ params, loss }`. */
  readonly model: Model<never> | LossModel;
  /** Compares outputs with the batch, such as `crossEntropy()`; part of the model where that is `{ params, loss }`. */
  readonly loss?: Loss;
  /** Metrics by name, computed in training (`train/…`) and evaluation (`val/…`); those over whole evaluations only there. */
  readonly metrics?: Readonly<Record<string, AnyMetric>>;
  /** What goes into the model; default `batch.x`. */
  readonly inputs?: InputsFn;
  /** Counts a batch's tokens, for `maxTokens`, cadences and throughput. */
  readonly tokens?: (batch: HostBatch) => number;
  /**
   * How much a batch counts next to others, in micro-batches, ranks and averages: the number of things that `loss` is the
   * mean of. Default: the loss's own `weigh`, such as the labels that count in `crossEntropy()`; else the batch's samples.
   */
  readonly weigh?: WeighFn;
  /** One optimizer, or several by name. */
  readonly optimizer: OptimizerOption;
  /** A factor on the learning rates, by step or epoch, such as `cosine({ warmup: "5%" })`. */
  readonly schedule?: Schedule;
  /** One loader, or several by name. */
  readonly train: Loader | Readonly<Record<string, Loader>>;
  /** How several training loaders share the epoch. */
  readonly mix?: MixOptions;
  /** Factor on the loss of each training loader's batches. */
  readonly lossWeights?: Readonly<Record<string, number>>;
  /** One evaluation loader (its metrics are `val/…`), or several by name. */
  readonly eval?: Loader | Readonly<Record<string, Loader>>;
  /** When the model is evaluated, such as `"500 steps"`. Default: every epoch. */
  readonly evalEvery?: Cadence;
  /** An evaluation before the first step. Default false. */
  readonly evalAtStart?: boolean;
  /** When `log` fires, besides the end of every epoch. Default: every 10 steps. */
  readonly logEvery?: Cadence;
  /** Micro-batches in a step. Default 1. */
  readonly accumulate?: number;
  /**
   * How a model that is a stack of layers is computed: `true`, layer by layer, so that the time to compile and the memory
   * of a step do not grow with its depth, while a layer's inner activations are computed twice; `false`, in one program.
   * Default `auto`: layer by layer if the model is a stack without buffers and trains on one device, but on xla in one program.
   */
  readonly layered?: boolean | "auto";
  /** Scales gradients down to this global norm. */
  readonly clipNorm?: number;
  /** Cuts each number of a gradient off at plus and minus this. */
  readonly clipValue?: number;
  /**
   * Batches of an epoch and of each evaluation to use, for a quick try: a number of them, or a fraction below 1 such as
   * 0.25 of those there are; `{ eval: 20 }` for cheap evaluations only.
   */
  readonly limitBatches?: BatchLimit;
  /** Default 0. The same seed gives the same run, bit for bit, on one engine and machine. */
  readonly seed?: number;
  /** Default `auto`: the best one present. */
  readonly engine?: EngineName | Engine;
  /**
   * Default `float32`. `bf16`, which the engine `xla` has, multiplies matrices in bfloat16; parameters, the optimizer,
   * sums, norms and the loss stay float32.
   */
  readonly precision?: Precision;
  /**
   * Default 1. How many devices of this machine the engine `xla` trains on. Each computes its share of a batch's rows; the
   * numbers are those of one device to rounding.
   */
  readonly devices?: number;
  /**
   * Default `auto`: the processes that `mpirun` or `srun` has started train together, and any other process alone. A
   * loader gives each of them the whole batch, of which it takes its rows.
   */
  readonly strategy?: StrategyName | Strategy;
  /** Where the run's files go: checkpoints, and what hooks write. */
  readonly runDir?: string;
  /** Where checkpoints go instead of `<runDir>/checkpoints`: memoryStore(), or openOpfsStore() in a browser. */
  readonly store?: CheckpointStore;
  /** `async` (default): a checkpoint is written while training continues. `sync`: training waits for the disk. */
  readonly save?: "async" | "sync";
  /** How often hooks may roll the run back before it stops. Default 3. */
  readonly maxRollbacks?: number;
  /** In the order given, unless `before`, `after` or a stage says otherwise. */
  readonly hooks?: readonly Hook[];
  /** What hooks share; given by an experiment, so that its own events and those of its trainers use one. */
  readonly shared?: Shared;
  /** The whole configuration that this training is a part of, for hooks in `ctx.config.experiment`; given by an experiment. */
  readonly experiment?: object;
  /** End cleanly on SIGINT, SIGTERM, SIGHUP and SIGUSR1, and save before an uncaught error ends the process. Default true. */
  readonly signals?: boolean;
  /** Milliseconds after such a signal in which the run must end, its last save included; then the process exits. Default 30000. */
  readonly signalGrace?: number;
  /** Milliseconds after which the loop lets timers and signals run. Default 20. */
  readonly yieldEvery?: number;
  /** Milliseconds that a hook may take in `exception` and `close`. Default 10000. */
  readonly closeTimeout?: number;
  /** Where warnings go. Default: console.warn. */
  readonly warn?: (message: string) => void;
}

/** Options of `fit`: other limits, and whether and where to resume. */
export interface FitOptions extends LimitOptions {
  /** Start over: counters, parameters, optimizer and metrics as in a new trainer. */
  readonly restart?: boolean;
  /**
   * Resumes from a checkpoint: `"auto"` from the newest of this run, if there is one; or the name of one, the path of
   * one, of a run's directory, or of a file of weights (.safetensors, .pt).
   */
  readonly resume?: string;
  /** Ends the run after the current step. */
  readonly signal?: AbortSignal;
}

const loaders = { expected: "a loader such as new DataLoader(…), or several by name", test: is.object.test };
const optimizers = { expected: "an optimizer such as adamw({ lr: 1e-3 }), or several by name", test: is.object.test };
const oneLimit = is.or(is.wholeFrom(1), {
  expected: "a fraction between 0 and 1",
  schema: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
  test: (value) => is.positive.test(value) && (value as number) < 1,
});
const batchLimit: Check = {
  expected: `${oneLimit.expected}, or { train, eval } with one for each`,
  schema: {
    anyOf: [
      oneLimit.schema!,
      { type: "object", properties: { train: oneLimit.schema!, eval: oneLimit.schema! }, additionalProperties: false },
    ],
  },
  test: (value) => {
    if (oneLimit.test(value)) return true;
    const entries = is.object.test(value) ? Object.entries(value as object) : [];
    return entries.length > 0 && entries.every(([key, n]) => (key === "train" || key === "eval") && oneLimit.test(n));
  },
};
const isStore = (value: unknown): boolean => typeof (value as Partial<CheckpointStore> | null)?.save === "function";
/** What each option must be; an experiment takes most of them too. */
export const TRAINER_CHECKS = {
  ...LIMIT_CHECKS,
  model: is.object,
  loss: { ...is.function, expected: "a function such as crossEntropy()" },
  metrics: { ...is.object, expected: "an object such as { accuracy: accuracy() }" },
  inputs: is.function,
  tokens: is.function,
  weigh: is.function,
  optimizer: optimizers,
  schedule: is.object,
  train: loaders,
  mix: is.object,
  lossWeights: is.object,
  eval: loaders,
  evalEvery: is.cadence,
  evalAtStart: is.boolean,
  logEvery: is.cadence,
  accumulate: is.wholeFrom(1),
  layered: is.or(is.boolean, is.oneOf("auto")),
  clipNorm: is.positive,
  clipValue: is.positive,
  limitBatches: batchLimit,
  seed: is.wholeFrom(0),
  engine: is.anything,
  strategy: is.anything,
  runDir: is.name,
  store: { expected: "a checkpoint store such as memoryStore()", test: isStore },
  save: is.oneOf("async", "sync"),
  maxRollbacks: is.wholeFrom(0),
  hooks: is.array,
  shared: { expected: "a Shared map", test: (v: unknown) => v instanceof Shared },
  experiment: is.object,
  signals: is.boolean,
  signalGrace: is.positive,
  yieldEvery: is.nonNegative,
  closeTimeout: is.positive,
  warn: is.function,
  precision: is.oneOf("float32", "bf16"),
  devices: is.wholeFrom(1),
};

/** What has no default. */
export const REQUIRED_OPTIONS = ["model", "optimizer", "train"] as const;

export function checkTrainerOptions(options: TrainerOptions): void {
  checkOptions("Trainer", options, TRAINER_CHECKS, REQUIRED_OPTIONS);
  if (options.engine !== undefined) checkEngine(options.engine);
  checkEngineOptions(options, options.engine);
  if (options.strategy !== undefined) checkStrategy(options.strategy);
  if (options.schedule && typeof options.schedule.factor !== "function") {
    throw new OptionError(
      `Trainer: Expected \`schedule\` to be a schedule such as cosine(), got ${show(options.schedule)}`,
    );
  }
  for (const [name, weight] of Object.entries(options.lossWeights ?? {})) {
    if (typeof weight !== "number" || !Number.isFinite(weight)) {
      throw new OptionError(`Trainer: Expected \`lossWeights.${name}\` to be a finite number, got ${show(weight)}`, {
        option: "lossWeights",
      });
    }
  }
  for (const [name, metric] of Object.entries(options.metrics ?? {})) {
    if (name === "loss")
      throw new OptionError(
        `Trainer: \`metrics.loss\` is taken: the loss itself comes out under that name. Call the metric something else.`,
        { option: "metrics" },
      );
    if (typeof metric?.update !== "function" || typeof metric.compute !== "function") {
      throw new OptionError(
        `Trainer: Expected \`metrics.${name}\` to have \`update\` and \`compute\`, such as accuracy(), got ${show(metric)}`,
      );
    }
    for (const key of ["size", "maxRows"] as const) {
      const value = (metric as Partial<Record<typeof key, unknown>>)[key];
      if (value === undefined || is.wholeFrom(1).test(value)) continue;
      throw new OptionError(
        `Trainer: Expected \`metrics.${name}.${key}\` to be ${is.wholeFrom(1).expected}, got ${show(value)}`,
        { option: "metrics" },
      );
    }
  }
}

/** The options with those that come with the model, where nothing else is given. */
export function withModelDefaults<O extends Partial<Pick<TrainerOptions, "model" | keyof ModelDefaults>>>(
  options: O,
): O {
  const defaults = (options.model as Partial<Model> | undefined)?.defaults;
  if (!defaults) return options;
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...(Object.fromEntries(given) as O) };
}

export const FIT_CHECKS = {
  ...LIMIT_CHECKS,
  restart: is.boolean,
  resume: is.name,
  signal: { expected: "an AbortSignal", test: (v: unknown) => v instanceof AbortSignal },
};

export function checkFitOptions(options: FitOptions): void {
  checkOptions("fit", options, FIT_CHECKS);
  if (options.restart && options.resume !== undefined)
    throw new OptionError("fit: `restart` starts over and `resume` continues: give one of them.");
}
