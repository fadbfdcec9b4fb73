// What the loop asks of the trainer's computing side. The loop knows when; this knows how.
// A method returns a promise only on an engine that cannot finish synchronously.
import type { HostArray } from "./arrays.ts";
import type { Metrics, UpdateFn } from "./context.types.ts";
import type { Activations, DeviceTensors, Diagnosis, Grads, Probe, ProbeRequest } from "./inspection.ts";
import type { HostBatch, HostTensors, Loss, MaybePromise, Share } from "./model.ts";
import type { NameFilter } from "./names.ts";
import type { GroupAssignment } from "./verbs.ts";

/** How a step is computed: in one program, with the gradients in between, or with the forward pass first. */
type PlanKind = "fused" | "split" | "forwardFirst";

export interface Plan {
  readonly kind: PlanKind;
  /** Why not fused: a hook and its event, or an option. */
  readonly because: string;
  readonly outputs: boolean;
  readonly gradNorm: boolean;
  /** Does the step return its own metrics beside the epoch's? */
  readonly batchMetrics: boolean;
  /** Is a step that is not finite kept from changing anything? */
  readonly finite: boolean;
  /** Hooks that look at activations. */
  readonly probes: readonly Probe[];
}

/** What a step shows to its events. */
export interface Readings {
  /** May values be read on demand, without `settle`? */
  readonly syncRead: boolean;
  /** Reads everything, on engines that must await; a no-op elsewhere. */
  settle(): MaybePromise<void>;
  readonly loss: number;
  readonly outputs: HostArray | HostTensors;
  activations(request: ProbeRequest): Activations;
  readonly gradNorm: number;
  readonly clippedNorm: number;
  /** Metrics of the last micro-batch and of the whole step, when the plan computes them. */
  readonly batchMetrics: Metrics;
  readonly stepMetrics: Metrics;
  /** Mean loss of the epoch so far; on engines that must await, as of the last `settle`. */
  readonly avgLoss: number;
  /** Mean loss and train metrics of the epoch so far; undefined when there is nothing to average. */
  epochMetrics(): MaybePromise<{ readonly loss: number; readonly metrics: Metrics } | undefined>;
}

export interface Work {
  readonly shown: Readings;
  readonly plan: Plan;
  /** Whether gradients are clipped, so that `gradientClip` fires. */
  readonly clips: boolean;
  /** Optimizers that update in this step, by index. */
  readonly due: readonly number[];
  /** Are optimizers tied to loaders, so that a step's micro-batches must come from one loader? */
  readonly tied: boolean;
  /** The micro-batch's gradients, or one optimizer's share of the step's; undefined outside their window. */
  grads(optimizer: number, record: (what: string) => void): Grads | undefined;
  /** Micro-batches whose gradients are in this step. */
  readonly kept: number;

  /** Sets the learning rates of the step that begins. */
  beginStep(step: number, epoch: number): void;
  /** Chooses the plan for the step, once `stepBegin` is over. */
  planStep(accumulate: number): void;
  /** Moves a micro-batch, or this process's share of one, to the device; returns its weight: its samples, or labels that count. */
  takeBatch(batch: HostBatch, loader: string, micro: number, share?: Share): number;
  /** The whole step in one program (plan `fused`); commits. */
  fusedStep(scale: number): MaybePromise<void>;
  /** The forward pass alone (plan `forwardFirst`). */
  forward(): MaybePromise<void>;
  /** Loss and gradients of the micro-batch. */
  backward(scale: number): MaybePromise<void>;
  /** Adds the micro-batch to the step, or leaves it out. */
  keepBatch(): MaybePromise<void>;
  dropBatch(): void;
  /** Makes the step's gradient: the weighted mean over what was kept. */
  gatherGrads(): MaybePromise<void>;
  /**
   * The same over all processes that train together, each with what it kept, or nothing: from here on gradients, model
   * state and loss are those of the whole step, of about `samples`. Returns the loss, or undefined when no process kept
   * anything.
   */
  joinGrads(loader: string, keeps: boolean, samples: number): Promise<number | undefined>;
  clip(): MaybePromise<void>;
  update(optimizer: number): MaybePromise<void>;
  /** From here the step is done: parameters, optimizer and model state together. */
  commit(): MaybePromise<void>;
  /** Forgets the open step; parameters, optimizer and model state are as before it. */
  abandon(): void;

  /** False when the plan guards the step and its loss or gradient is not finite. */
  readonly finite: boolean;
  /** Computes the step at hand, which was not finite and changed nothing, once more. */
  diagnose(): Promise<Diagnosis>;
  lr(optimizer: number): number;

  resetEpochMetrics(): void;
  /** Gives schedules that watch a metric its new value. */
  observe(metrics: Readonly<Record<string, number>>, after: "eval" | "epoch"): void;
}

/** What verbs change for the steps to come. */
export interface Settings {
  setLoss(loss: Loss): void;
  /** One rate for each group of each optimizer. */
  ratesFor(lr: number | ((current: number) => number)): readonly number[];
  setRates(rates: readonly number[]): void;
  assign(optimizer: number, group: number, values: GroupAssignment): void;
  setUpdate(update: UpdateFn | null): void;
  /** The parameters that are not trained when this filter chooses those that are. */
  frozenBy(filter: NameFilter): readonly string[];
  freeze(names: readonly string[]): void;
  setParams(params: HostTensors | DeviceTensors): void;
}

/** The computing side of an evaluation. */
export interface EvalWork {
  /** Host copies of the last batch's outputs, when a hook needs them. */
  readonly outputs: HostArray | HostTensors;
  /** Loss and metrics of the last batch alone, when a hook listens to `evalBatchEnd`. */
  readonly loss: number;
  readonly batchMetrics: Metrics;
  activations(request: ProbeRequest): Activations;
  begin(): void;
  /** Replaces activations until `restore`. */
  replace(replacements: readonly Probe[]): void;
  /** Puts other parameters in place until `restore`. */
  swapParams(params: HostTensors | DeviceTensors): void;
  /** An `empty` batch only seems to have rows, and counts for nothing. */
  batch(batch: HostBatch, loader: string, index: number, empty?: boolean): MaybePromise<void>;
  /** The averages; undefined when no batch had any weight. */
  end(): MaybePromise<{ readonly loss: number; readonly metrics: Metrics } | undefined>;
  restore(): void;
}

/** The training data as the loop sees it: one or several loaders behind one face. */
export interface Feed {
  readonly names: readonly string[];
  begin(epoch: number, seed: number): void;
  /** The loader that the next batch comes from, by index; undefined at the end of the epoch. `from` asks for one more of that loader. */
  peek(from?: number): MaybePromise<number | undefined>;
  next(from?: number): MaybePromise<HostBatch | undefined>;
  /** The same for one of several processes: its rows alone. */
  nextShare(part: { readonly rank: number; readonly size: number }, from?: number): MaybePromise<Share | undefined>;
  skip(from?: number): MaybePromise<boolean>;
}
