// The types of the context: what each event shows and allows. Everything here derives from EVENTS and VERBS.
import type { HostArray } from "./arrays.ts";
import type { Cadence } from "./cadence.ts";
import type { DeviceTensors, ParamsView } from "./device-tensors.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { BuiltinEvent, COMMON_FIELDS, CustomEvents, EventName, EVENTS } from "./events.ts";
import type { Grads } from "./grads.ts";
import type { Intervention } from "./audit.ts";
import type { Media } from "./media.ts";
import type { HostBatch, HostTensors, Loss, LossModel, Model, Tensors } from "./model.ts";
import type { NameFilter } from "./names.ts";
import type { Activations } from "./probes.ts";
import type { HookRegistry } from "./registry.ts";
import type { Shared } from "./shared.ts";
import type {
  Checkpoints,
  FailedSave,
  Loading,
  ResumeReport,
  SaveOptions,
  SaveReason,
  SavedCheckpoint,
  Saving,
} from "./saving.ts";
import type { SkipScope, SkipScopesOf, VerbsOf } from "./verbs.ts";

/** What runs now: training, an evaluation inside it, or `evaluate`/`predict` on their own. */
export type Phase = "train" | "eval" | "standalone" | "predict";
/** How a run stands, or how it ended. */
export type RunStatus = "training" | "completed" | "stopped" | "interrupted" | "error";
export type Metrics = Readonly<Record<string, number>>;

/** One parameter group of a running optimizer. Assigning is an audited intervention. */
export interface LiveGroup {
  readonly name: string;
  readonly params: readonly string[];
  lr: number;
  weightDecay: number;
  /** Undefined for optimizers without momentum; assigning there is an error. */
  momentum: number | undefined;
}

/** A running optimizer. */
export interface LiveOptimizer {
  readonly name: string;
  readonly groups: readonly LiveGroup[];
  /** Updates done so far. */
  readonly updates: number;
  /**
   * What it keeps for each parameter after the last finished step, as host copies: by the name of the state, such as
   * Adam's `exp_avg` and `exp_avg_sq`, then by parameter. Read from the engine when it is called; of all its parameters,
   * or of those that `params` chooses.
   * @example const { exp_avg } = await ctx.optimizers[0]!.state("head.");
   */
  state(params?: NameFilter): Promise<Readonly<Record<string, HostTensors>>>;
}

/** What an own optimizer step keeps for each parameter: by the name of the slot, then by parameter. */
export type UpdateState = Readonly<Record<string, Tensors>>;

/**
 * Own optimizer step: from parameters and (clipped) gradients to new parameters, as a pure jax-js function. With `slots`
 * it keeps state from step to step, which begins as zeros and is saved with checkpoints; then it returns
 * `[params, state]`.
 * @example Object.assign((params, grads, { lr, state: { velocity } }) => …, { slots: ["velocity"] })
 */
export interface UpdateFn {
  (
    params: Tensors,
    grads: Tensors,
    hyper: { readonly lr: Tensors[string]; readonly state: UpdateState },
  ): Tensors | [Tensors, UpdateState];
  /** Names of what it keeps, one array of the parameter's shape each. */
  readonly slots?: readonly string[];
}

export interface ContextFields<B = HostBatch> {
  readonly phase: Phase;
  /** From 0. */
  readonly epoch: number;
  /** The number of the step at hand, from 1; 0 before the first. */
  readonly step: number;
  /** Undefined when the length of the run is not known. */
  readonly totalSteps: number | undefined;
  /** From 0, within the epoch (or the evaluation). */
  readonly batchIdx: number;
  readonly loaderIdx: number;
  readonly loaderName: string;
  readonly optimizerIdx: number;
  readonly batch: B;
  /** Host copies of the model's outputs; a hook that reads them says `needs: ["outputs"]`. */
  readonly outputs: HostArray | HostTensors;
  /**
   * The micro-batch's loss; in `stepEnd` and the optimizer events the mean over the step's micro-batches; in `epochEnd`
   * and `trainEnd` that of the last step; in `evalBatchEnd` that of the evaluation batch. NaN before there is one.
   */
  readonly loss: number;
  /** Mean loss of this epoch so far, weighted by samples; in `trainEnd` of the last epoch. NaN before there is one. */
  readonly avgLoss: number;
  /**
   * The trainer's metrics of this batch alone: in `evalBatchEnd` of the evaluation batch, in `batchEnd` of the
   * micro-batch, in `stepEnd` of all micro-batches of the step. In training a hook that reads them says
   * `needs: ["batchMetrics"]`. Empty when the batch was skipped. In a process group a batch is this rank's part of it; in
   * `stepEnd` the metrics are those of all ranks.
   */
  readonly batchMetrics: Metrics;
  /** Latest value of every metric, including what hooks logged. */
  readonly metrics: Metrics;
  /** The metrics of this evaluation. */
  readonly evalMetrics: Metrics;
  /** What this boundary logs. */
  readonly logged: Metrics;
  /** Histograms, texts and images that hooks logged since the last boundary that logged. */
  readonly media: Readonly<Record<string, Media>>;
  /** What hooks have changed so far in this run. */
  readonly interventions: readonly Intervention[];
  /** The rate this step uses: the first group of the first optimizer, or of the one at hand. */
  readonly lr: number;
  /** Global gradient norm before clipping; when clipping is on or a hook says `needs: ["gradNorm"]`. */
  readonly gradNorm: number;
  readonly clippedNorm: number;
  /** False when the step changed nothing because its loss or gradient is NaN or infinite; for hooks with `needs: ["finite"]`. */
  readonly finite: boolean;
  /** Computes a step that is not finite once more, to say what was bad first; only when `finite` is false. */
  readonly diagnose: () => Promise<Diagnosis>;
  readonly grads: Grads;
  /** Points inside the model, for hooks with `probes`: those of the last micro-batch, in the order of the program. */
  readonly activations: Activations;
  readonly tokensSeen: number;
  readonly samplesSeen: number;
  readonly model: Model<never> | LossModel;
  readonly params: ParamsView;
  readonly optimizers: readonly LiveOptimizer[];
  /** The engine at work: `native`, `wasm`, `webgpu`, … */
  readonly device: string;
  /** Seconds that it has spent on compiling so far; undefined of one that does not say. */
  readonly compileSeconds: number | undefined;
  readonly paramCount: number;
  /**
   * The trainer's options. In an experiment `config.experiment` is the whole configuration: the config as it is written,
   * or the options of the `Experiment`.
   */
  readonly config: Readonly<Record<string, unknown>>;
  readonly status: RunStatus;
  /** Seconds of training, earlier parts of a resumed run included. */
  readonly elapsed: number;
  readonly shared: Shared;
  /** This process among those that train together, from 0; 0 is the main one. */
  readonly rank: number;
  /** How many processes train together; 1 for one alone. */
  readonly worldSize: number;
  /** Registration and cost of all hooks; what changes here takes effect at the next event. */
  readonly hooks: HookRegistry;
  /** The run's checkpoints. */
  readonly checkpoints: Checkpoints;
  /** What is about to be written. */
  readonly saving: Saving;
  /** The checkpoint that has become durable, with the step and metrics of its snapshot. */
  readonly saved: SavedCheckpoint;
  readonly failedSave: FailedSave;
  readonly loading: Loading;
  readonly loaded: ResumeReport;
  readonly skipped: boolean;
  /** True when the epoch was cut short. */
  readonly partial: boolean;
  readonly reason: string;
  readonly requestedBy: string;
  readonly error: unknown;
  /** Records metrics at this step: later hooks of the same event see them in `ctx.metrics`, loggers write them. */
  log(values: Readonly<Record<string, number | Media>>): void;
  /** Is this cadence due at the event at hand? For a hook with a cadence for only some of what it does; for all of it, say `every`. */
  due(cadence: Cadence): boolean;
}

export interface Verbs {
  stop(reason: string): void;
  skip(scope: SkipScope, reason?: string): void;
  replaceBatch(batch: HostBatch, reason?: string): void;
  scaleLoss(k: number, reason?: string): void;
  setLoss(loss: Loss, reason?: string): void;
  setLr(lr: number | ((current: number) => number), reason?: string): void;
  /** `null` gives the step back to the optimizer. */
  setUpdate(update: UpdateFn | null, reason?: string): void;
  setTrainable(filter: NameFilter, reason?: string): void;
  setAccumulate(n: number, reason?: string): void;
  setParams(params: HostTensors | DeviceTensors, reason?: string): void;
  swapParams(params: HostTensors | DeviceTensors, reason?: string): void;
  requestEval(reason?: string): void;
  requestSave(reason?: SaveReason, options?: SaveOptions): void;
  /** To the newest checkpoint, or to the one of this name. After `maxRollbacks` of them the run stops instead. */
  rollback(to?: string, reason?: string): void;
}

type CommonField = (typeof COMMON_FIELDS)[number] | "log" | "due";

type FieldsOf<E extends BuiltinEvent> = (typeof EVENTS)[E]["fields"][number];

type BuiltinContext<E extends BuiltinEvent, B> = Pick<ContextFields<B>, CommonField | FieldsOf<E>> &
  Pick<Verbs, Exclude<VerbsOf<E>, "skip">> &
  (SkipScopesOf<E> extends never ? unknown : { skip(scope: SkipScopesOf<E>, reason?: string): void });

/** The context as one event shows it: a field or verb that is not valid there is a compile error. */
export type ContextOf<E extends EventName, B = HostBatch> = E extends BuiltinEvent
  ? BuiltinContext<E, B>
  : E extends keyof CustomEvents
    ? Pick<ContextFields<B>, CommonField> &
        Pick<Verbs, Exclude<VerbsOf<"stepEnd">, "skip">> & {
          skip(scope: SkipScopesOf<"stepEnd">, reason?: string): void;
          readonly payload: CustomEvents[E];
        }
    : never;
