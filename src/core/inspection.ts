// What hooks can look at inside a step: gradients, activations, the parameters on the engine, and the diagnosis of a step
// that is not finite. Arrays stay on the engine; only the numbers that are asked for come back.
import type { HostArray } from "./arrays.ts";
import type { HostTensors, Tensor, Tensors } from "./model.ts";
import type { NameFilter } from "./names.ts";
import { checkOptions, is, type Check } from "./options.ts";

/** Which statistics, and of which parameters. */
export interface GradStatsOptions {
  /** Percentiles of the values, each from 0 to 100. */
  readonly percentiles?: readonly number[];
  /** Number of equal bins between the least and the greatest value. */
  readonly histogram?: number;
  readonly filter?: NameFilter;
}

/** Statistics of one gradient, or of any other array. */
export interface GradStats {
  readonly norm: number;
  readonly mean: number;
  readonly std: number;
  readonly min: number;
  readonly max: number;
  /** Values that are NaN or infinite. */
  readonly nonFinite: number;
  /** In the order asked for. */
  readonly percentiles?: readonly number[];
  readonly histogram?: { readonly edges: readonly number[]; readonly counts: readonly number[] };
}

/** The gradients of the current step. They stay on the engine: their values come back as promises. */
export interface Grads {
  /** Parameters that have a gradient here, in canonical order. */
  readonly names: readonly string[];
  /** Global L2 norm. */
  norm(): Promise<number>;
  /** L2 norm per parameter. */
  norms(): Promise<Record<string, number>>;
  /** A host copy of one gradient. */
  get(name: string): Promise<HostArray>;
  /** Statistics per parameter, computed on the engine in one program. */
  stats(options?: GradStatsOptions): Promise<Record<string, GradStats>>;
  /** Multiplies all gradients. */
  scale(k: number): Promise<void>;
  /** Scales all gradients down so that the global norm is at most `norm`; resolves to the norm before. */
  clip(norm: number): Promise<number>;
  /** Replaces each gradient by a jax-js function of it. */
  map(fn: (grad: Tensor, name: string) => Tensor): Promise<void>;
}

/** How many values are NaN or infinite, by name in canonical order; names without any are left out. */
export type NonFinite = Readonly<Record<string, number>>;

/** The first micro-batch of the step with something that is not finite, or the last one: its values in the order of computation. */
export interface Diagnosis {
  /** Which of the step's micro-batches, from 0. */
  readonly micro: number;
  readonly loaderName: string;
  /** Fields of the batch. */
  readonly batch: NonFinite;
  /** Parameters as they were before the step, and still are. */
  readonly params: NonFinite;
  readonly loss: number;
  /** When the loss is not finite: a label or an id that is out of range, in words. */
  readonly index: string | undefined;
  /** When the loss is not finite: the first point of the model, in the order of the program, that is not either. */
  readonly activation: string | undefined;
  readonly grads: NonFinite;
}

/** What flows on instead of `x`: a pure jax-js function, with the same shape and type. */
export type ReplaceFn = (x: Tensor, name: string) => Tensor;

/** Which activations a hook wants to see or change. */
export interface ProbeRequest {
  /** Which points: a name, a glob, a part of a name, several of these, or a predicate. */
  readonly match: NameFilter;
  /** `"stats"` (default): numbers, computed in the program. `"arrays"`: the activations themselves. */
  readonly collect?: "stats" | "arrays";
  /** Percentiles among the statistics, each from 0 to 100. */
  readonly percentiles?: readonly number[];
  /** Bins of a histogram among the statistics. */
  readonly histogram?: number;
  /** Changes the points in evaluation and predict; never in training. */
  readonly replace?: ReplaceFn;
}

/** Statistics of one activation. */
export interface ActivationStats extends GradStats {
  /** Share of units that are 0 for the whole batch. Units are the last dimension; in [batch, channels, height, width] the channels. */
  readonly dead: number;
}

/** Activations of the last micro-batch, on the host: the points that the hook asked for, in the order of the program. */
export interface Activations {
  /** Empty when none were collected, as in a step that was skipped. */
  readonly names: readonly string[];
  /** For requests that collect statistics. */
  stats(name: string): ActivationStats;
  /** For requests that collect arrays. */
  get(name: string): HostArray;
}

/** A request and the hook that made it. */
export interface Probe {
  readonly hook: string;
  readonly request: ProbeRequest;
}

const PROBE_CHECKS = {
  match: is.or(is.name, is.function, is.arrayOf(is.name)),
  collect: is.oneOf("stats", "arrays"),
  percentiles: is.arrayOf(is.between(0, 100)),
  histogram: is.wholeFrom(1),
  replace: is.function,
} satisfies Record<keyof ProbeRequest, Check>;

/** Checks a request; `more` are options that a caller has besides. */
export function checkProbe(owner: string, request: unknown, more: Readonly<Record<string, Check>> = {}): void {
  checkOptions(owner, request, { ...PROBE_CHECKS, ...more }, ["match"]);
}

/** Events of training that show activations. */
export const TRAIN_PROBE_EVENTS = ["afterForward", "beforeBackward", "afterBackward", "batchEnd", "stepEnd"] as const;

/** How a filter looks in a message or in the audit. */
export const showFilter = (filter: NameFilter): string =>
  typeof filter === "function" ? filter.name || "a predicate" : JSON.stringify(filter);

/** Tensors that a hook keeps on the engine. It frees them; those that are left are freed with the trainer. */
export interface DeviceTensors {
  readonly names: readonly string[];
  /** True once they are gone, for example with the trainer's engine. */
  readonly freed: boolean;
  /** A host copy of one. */
  get(name: string): Promise<HostArray>;
  /** Host copies of all. */
  read(): Promise<HostTensors>;
  free(): void;
}

/** The parameters as of the last finished step; during an evaluation those that it uses. */
export interface ParamsView {
  readonly names: readonly string[];
  /** Names of the model's buffers, such as the running statistics of `batchNorm`. */
  readonly buffers: readonly string[];
  /** How often the parameters were put in place from outside: by `ctx.setParams` or `loadStateDict`, not by steps. */
  readonly version: number;
  /** A host copy of one parameter or buffer. */
  get(name: string): Promise<HostArray>;
  /** A copy that stays on the engine: of all parameters, or of the parameters and buffers of these names. */
  snapshot(names?: readonly string[]): DeviceTensors;
  /** Brings host tensors to the engine, for those who keep some. */
  put(tensors: HostTensors): DeviceTensors;
  /**
   * A pure jax-js function of the parameters and more tensors, compiled once per function and shapes and run on the engine.
   * What changes from call to call goes in as arguments, not through the closure:
   * `(params, ema, decay) => …` with `compute(fn, ema, 0.99)`.
   */
  compute(fn: ComputeFn, ...inputs: readonly ComputeInput[]): Promise<DeviceTensors>;
  /**
   * Gives tensors up to a call of `compute`, which may use their memory for its results: a cache that is updated need not
   * exist twice. They are gone after the call; if it fails, they are still there.
   * @example next = await params.compute(step, params.consume(cache), { ids })
   */
  consume(tensors: DeviceTensors): Consumed;
  /**
   * A copy of a model's tensors whose buffers are recomputed for its parameters, like torch's `update_bn`: batch norm's
   * running statistics become those of `batches` training batches (default 100, at most an epoch). Reads the first batches
   * of the first epoch and fires no events; the training, its data position and its random numbers are not touched.
   * Undefined for a model without buffers, and where the training data is a stream, which is not read twice. In a process
   * group every rank must call it.
   */
  recomputeBuffers(tensors: DeviceTensors, batches?: number): Promise<DeviceTensors | undefined>;
}

/**
 * What `compute` takes after its function: tensors on the engine, host arrays by name, which are on the engine for the call
 * alone, or a number.
 */
export type ComputeInput = DeviceTensors | Consumed | HostTensors | number;

/** Tensors that a call of `compute` may use up: made by `params.consume`. */
export interface Consumed {
  readonly consumed: DeviceTensors;
}

/**
 * `params` are the parameters, with the tensors of the model's frozen base if it has one. Each of `inputs` is a map of
 * tensors; a number is `{ value }`, a float32 scalar. Returns a flat map: the names of nested parts have dots, as those of
 * parameters do.
 */
export type ComputeFn = (params: Tensors, ...inputs: Tensors[]) => Tensors;
