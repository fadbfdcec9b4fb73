// The one port between core and what computes: a started run as the loop, the context and the verbs use it. The trainer's
// `Session` is its only implementation; core knows when things happen, the session knows how.
// A method returns a promise only where the engine or the data cannot finish synchronously.
import type { HostArray } from "../arrays.ts";
import type { HookRequest } from "../interventions.ts";
import type { GroupAssignment } from "../verbs.ts";
import type { Metrics } from "../context.ts";
import type { UpdateFn } from "../optimizer.ts";
import type { Activations, DeviceTensors, Diagnosis, Grads, ParamsView, Probe, ProbeRequest } from "../inspection.ts";
import { ContextError } from "../errors.ts";
import type { BuiltinEvent } from "../events.ts";
import type { Figure, HostBatch, HostTensors, Loader, Loss, MaybePromise, Share } from "../model.ts";
import type { NameFilter } from "../names.ts";

/** How a step is computed: in one program, with the gradients in between, or with the forward pass first. */
export interface Plan {
  readonly kind: "fused" | "split" | "forwardFirst";
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

/** Mean loss and metrics over batches. */
interface Averages {
  readonly loss: number;
  readonly metrics: Metrics;
}

/** A batch of the training data, or this rank's share of one. */
export interface FetchedBatch {
  readonly batch: HostBatch;
  /** Samples and tokens of the whole batch. */
  readonly samples: number;
  readonly tokens: number;
  /** Set in a process group. */
  readonly share: Share | undefined;
}

/** In bytes. */
export interface DeviceMemory {
  readonly bytesInUse: number;
  readonly peakBytesInUse: number | undefined;
  /** What the device can give at most. */
  readonly bytesLimit: number | undefined;
}

export interface Session {
  /** The engine at work. */
  readonly device: string;
  /** Seconds spent on compiling; undefined for engines that do not report it. */
  readonly compileSeconds: number | undefined;
  /** Seconds since the engine began to compile, while it does. */
  readonly compiling: number | undefined;
  /** The engine's device memory, where it has its own. */
  readonly deviceMemory: DeviceMemory | undefined;
  /** The parameters as hooks see them. */
  readonly params: ParamsView;

  /** The training data: one loader or several, taken in turn. */
  readonly data: {
    readonly names: readonly string[];
    begin(epoch: number, seed: number): void;
    /** Which loader the next batch comes from; undefined at the end of the epoch. `from` asks for one more of that loader. */
    peek(from?: number): MaybePromise<number | undefined>;
    /** Passes over the next batch; false at the end of the epoch. */
    skip(from?: number): MaybePromise<boolean>;
  };
  /** The next training batch, from the loader that `data.peek` returned for the same argument. */
  fetch(from?: number): MaybePromise<FetchedBatch>;

  /** Computes training steps. */
  readonly step: {
    readonly plan: Plan;
    /** Are gradients clipped, so that `gradientClip` fires? */
    readonly clips: boolean;
    /** Optimizers that update in this step, by index. */
    readonly due: readonly number[];
    /** Is there a gradient to update with? In a process group every rank takes part, with or without one of its own. */
    readonly isOpen: boolean;
    /** False when the plan guards the step and its loss or gradient is not finite. */
    readonly finite: boolean;
    /** Has the current step updated the parameters? */
    readonly updated: boolean;
    /** Sets the learning rates of the step that begins. */
    beginStep(step: number, epoch: number): void;
    /** Chooses the plan of the step, once `stepBegin` is over. */
    planStep(accumulate: number): void;
    /** Moves a micro-batch to the device; returns its weight, or undefined when it is to be skipped: nothing in it counts. */
    takeBatch(batch: HostBatch, loader: string, micro: number, share?: Share): number | undefined;
    /** The whole step in one program (plan `fused`). */
    fusedStep(scale: number): MaybePromise<void>;
    /** The forward pass alone (plan `forwardFirst`). */
    forward(): MaybePromise<void>;
    /** Loss and gradients of the micro-batch. */
    backward(scale: number): MaybePromise<void>;
    /** Adds the micro-batch to the step, or leaves it out. */
    keepBatch(): MaybePromise<void>;
    dropBatch(): void;
    /**
     * Makes the step's gradient, about `samples` samples of which are this step's; returns the step's loss. Undefined
     * when `skips` says so, or when nothing was kept.
     */
    gatherGrads(loader: string, samples: number, skips: () => boolean): Promise<number | undefined>;
    clip(): MaybePromise<void>;
    update(optimizer: number): MaybePromise<void>;
    /** The step is done: parameters, optimizer and model state change together. */
    commit(): MaybePromise<void>;
    /** Forgets the open step; parameters, optimizer and model state are as before it. */
    abandon(): void;
    /** The micro-batch's gradients, or one optimizer's share of the step's; undefined where there are none. */
    grads(optimizer: number, record: (what: string) => void): Grads | undefined;
    /** Computes the current step once more: it was not finite, and changed nothing. */
    diagnose(): Promise<Diagnosis>;
  };

  /** What hooks read of a step. */
  readonly readings: {
    /** Can values be read on demand, without `settle`? */
    readonly syncRead: boolean;
    /** Reads everything, on engines that must await; does nothing elsewhere. */
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
    /** Averages of the epoch so far; undefined when there is nothing to average. */
    epochMetrics(): MaybePromise<Averages | undefined>;
    resetEpoch(): void;
  };

  /** Computes evaluations. */
  readonly evaluation: {
    /** Of the last batch alone: outputs when a hook needs them, loss and metrics when a hook listens to `evalBatchEnd`. */
    readonly outputs: HostArray | HostTensors;
    readonly loss: number;
    readonly batchMetrics: Metrics;
    activations(request: ProbeRequest): Activations;
    begin(): void;
    /** A loader's next batch, or this rank's share of it; undefined at its end. */
    fetch(loader: Loader, name: string): MaybePromise<Pick<FetchedBatch, "batch" | "share"> | undefined>;
    /** Replaces activations until `restore`. */
    replace(replacements: readonly Probe[]): void;
    /** Puts other parameters in place until `restore`. */
    swapParams(params: HostTensors | DeviceTensors): void;
    /** A rank whose share is `empty` computes the batch like the others, and counts nothing. */
    batch(batch: HostBatch, loader: string, index: number, empty?: boolean): MaybePromise<void>;
    /** The averages, and what metrics draw; undefined when no batch had any weight. */
    end(): MaybePromise<(Averages & { readonly figures: Readonly<Record<string, Figure>> }) | undefined>;
    restore(): void;
  };

  /** The running optimizers. */
  readonly optimizers: {
    /** Do optimizers learn from one loader each, so that a step's micro-batches must come from one? */
    readonly tied: boolean;
    /** The first group's rate in the current step. */
    stepRate(optimizer: number): number;
    /** Gives schedules that watch a metric its new value. */
    observe(metrics: Metrics, after: "eval" | "epoch"): void;
    /** What `setLr` would make of every group's rate; `setRates` sets them. */
    ratesFor(lr: number | ((current: number) => number)): readonly number[];
    setRates(rates: readonly number[]): void;
    assign(optimizer: number, group: number, values: GroupAssignment): void;
  };

  // What other verbs change for the steps to come.
  setLoss(loss: Loss): void;
  setUpdate(update: UpdateFn | null): void;
  /** The parameters that are not trained when this filter chooses those that are; `freeze` stops training them. */
  frozenBy(filter: NameFilter): readonly string[];
  freeze(names: readonly string[]): void;
  setParams(params: HostTensors | DeviceTensors): void;

  /** Saves and restores the run. */
  readonly saves: {
    /** Whether `boundary` or `rollback` has anything to do. Read after every step. */
    readonly pending: boolean;
    /** After `trainBegin`. A directory that cannot be written is an error now, not after the first hour. */
    begin(): Promise<void>;
    /** Returns to a checkpoint, if a hook requested it: before anything else that a boundary does. */
    rollback(): Promise<void>;
    /** Saves, if a hook requested it, and reports what has become durable or has failed. */
    boundary(): Promise<void>;
    /** The state begins to change: until `markConsistent`, an emergency saves it as it is now. */
    markInconsistent(): void;
    /** The state is consistent again and can be saved. */
    markConsistent(): void;
    /** Does the last save and waits for the one in progress. */
    end(): Promise<void>;
  };

  /** Lets timers, signals and I/O run, when it is time. */
  breathe(): MaybePromise<void>;
}

/** A signal to the process, or the caller's AbortSignal. */
export interface Interruption {
  readonly reason: string;
  readonly requestedBy: string;
}

/** Points between events at which ranks exchange requests: at a step's boundary, after its log or an epoch's, during a pause, and at the end. */
export type ExchangePoint = BuiltinEvent | "boundary" | "stepLog" | "epochLog" | "hold" | "end";

/** The processes that train one model together. A process that trains alone has no group. */
export interface ProcessGroup {
  /** This process, from 0; 0 is the main rank. */
  readonly rank: number;
  readonly size: number;
  /** Milliseconds of training as of the last exchange: those of the main rank, on all. */
  readonly elapsed: number;
  /** Keeps a hook's request until the next exchange. */
  ask(request: HookRequest): void;
  /**
   * Exchanges pending requests; every rank applies all of them. Not every event is followed by an exchange. `logs`: does
   * this rank log at this boundary?
   */
  exchange(after: ExchangePoint, logs?: () => boolean): MaybePromise<void>;
}

export const notStarted = (): never => {
  throw new ContextError(`This needs the engine, which starts with the first fit(), evaluate() or predict().`);
};

/** In place of a session before the first call, and after `close()`. */
export const NOT_STARTED: Session = {
  device: "not started",
  compileSeconds: undefined,
  compiling: undefined,
  deviceMemory: undefined,
  get params() {
    return notStarted();
  },
  get data() {
    return notStarted();
  },
  get step() {
    return notStarted();
  },
  get readings() {
    return notStarted();
  },
  get evaluation() {
    return notStarted();
  },
  get optimizers() {
    return notStarted();
  },
  get saves() {
    return notStarted();
  },
  fetch: notStarted,
  setLoss: notStarted,
  setUpdate: notStarted,
  frozenBy: notStarted,
  freeze: notStarted,
  setParams: notStarted,
  breathe: notStarted,
};
