// What the trainer needs of a model, a loss and a metric (pure functions over jax-js arrays), and of a data loader.
import type { Array as JaxArray } from "@jax-js/jax";
import type { HostArray, TensorSpec } from "./arrays.ts";
import type { ImageMedia } from "./media.ts";

/** An array inside a traced program. jax-js's rule holds: use consumes, `x.ref` keeps. */
export type Tensor = JaxArray;
/** Parameters, gradients, buffers: flat maps from a dotted name to an array. */
export type Tensors = Record<string, Tensor>;
/** The same on the host. */
export type HostTensors = Record<string, HostArray>;
/** What a model returns: one array, or several by name. */
export type Outputs = Tensor | Tensors;
/** One array, and not several by name? */
export const isTensor = (outputs: Outputs): outputs is Tensor => typeof (outputs as Tensor).dtype === "string";
/** One micro-batch inside a program. */
export type TensorBatch = Record<string, Tensor>;
/** One micro-batch on the host, as loaders make it and as `ctx.batch` shows it. */
export type HostBatch = Record<string, HostArray>;

/** Random numbers for initialisation, drawn on the host so that every engine starts from the same bits. */
export interface InitKey {
  /** The two words of a jax-js random key, for those who want `random.normal(np.array(key.words), …)`. */
  readonly words: Uint32Array;
  /** An independent key for a part of the model. */
  fold(part: string | number): InitKey;
  uniform(shape: readonly number[], low: number, high: number): HostArray<Float32Array>;
  normal(shape: readonly number[], mean: number, std: number): HostArray<Float32Array>;
}

/** Random numbers inside a program: each `next()` is a fresh jax-js key, the same for the same seed, step and micro-batch. */
export interface KeyStream {
  next(): Tensor;
}

export interface ApplyContext {
  /** True while training: dropout drops, batch norm uses the batch's own statistics. */
  readonly train: boolean;
  readonly key: KeyStream;
  /** Buffers such as batch-norm statistics; empty for models without `initState`. */
  readonly state: Tensors;
  /** The name of the loader that the batch came from. */
  readonly loader: string;
  /**
   * While running statistics are recomputed, the share of this batch in them: 1, 1/2, 1/3, … makes them the mean over all
   * batches. In place of the layer's own momentum.
   */
  readonly momentum?: Tensor;
}

/**
 * A model: how to make its parameters and how to apply them.
 * With `initState`, `apply` returns `[outputs, state]`; without, it returns the outputs.
 */
export interface Model<In = Tensor, Out extends Outputs = Outputs> {
  init(key: InitKey): HostTensors;
  initState?(): HostTensors;
  apply(params: Tensors, inputs: In, ctx: ApplyContext): Out | [Out, Tensors];
  /** Set for a model that is a stack of layers, so that it can be trained layer by layer. */
  readonly stack?: Stack<In>;
  /** Tensors that `apply` finds among its `params` besides those of `init`, and that are never trained. */
  readonly base?: FrozenBase;
  /** What the trainer uses where its own options say nothing. */
  readonly defaults?: ModelDefaults;
}

/** Options of the trainer that come with a model. */
export interface ModelDefaults {
  readonly loss: Loss;
  readonly metrics: Readonly<Record<string, AnyMetric>>;
  /** What of a batch goes into the model. */
  readonly inputs: (batch: TensorBatch) => Tensor | TensorBatch;
  /** Counts a batch's tokens. */
  readonly tokens: (batch: HostBatch) => number;
}

/** A model that is a stack of equal layers. `apply` computes the same as embed, then each layer, then head. */
export interface Stack<In = TensorBatch> {
  /** Parameters of layer i have the names `${layers[i].prefix}…`; the layer sees them without the prefix. Layers of one kind share a program. */
  readonly layers: readonly StackLayer[];
  /** The others go to embed and head, by their whole names. */
  embed(params: Tensors, inputs: In, ctx: ApplyContext): Tensor;
  layer(kind: string, params: Tensors, hidden: Tensor, inputs: In, ctx: ApplyContext): Tensor;
  head(params: Tensors, hidden: Tensor, ctx: ApplyContext): Outputs;
}

/** One layer of a stack: where its parameters are, and which program it shares. */
export interface StackLayer {
  /** Ends with a dot: `layers.3.` */
  readonly prefix: string;
  readonly kind: string;
}

/**
 * Frozen tensors of a model that stay where they come from: they are on the engine while a trainer uses it, and neither in
 * host memory nor in checkpoints. Adapters are trained on such a base.
 */
export interface FrozenBase {
  /** Where it comes from, for messages and checkpoints. */
  readonly path: string;
  /** SHA-256 of its content in hex digits: a run is resumed only with the base that it began with. */
  readonly digest: string;
  /** By the names that `apply` finds among its `params`. They are read one at a time, when the engine starts. */
  readonly tensors: ReadonlyMap<string, FrozenTensor>;
}

/** One tensor of a frozen base. */
export interface FrozenTensor extends TensorSpec {
  readonly dtype: "float32" | "int32" | "uint32";
  /** Reads it from its source. The caller keeps no copy. */
  read(): Promise<HostArray>;
}

/** Anything else that can be trained: parameters and a function to a scalar (or `[scalar, outputs]`). */
export interface LossModel {
  readonly params: HostTensors;
  loss(params: Tensors, batch: TensorBatch, ctx: ApplyContext): Tensor | [Tensor, Outputs];
}

/**
 * A loss over outputs: the mean over what counts in the batch, a scalar. `targets` is `batch.y` when there is one.
 * @example const loss: Loss = Object.assign((outputs, y, batch) => …, { weigh: (batch) => countLabels(batch.y) });
 */
export interface Loss {
  (outputs: Outputs, targets: Tensor, batch: TensorBatch): Tensor;
  /** What the mean is over: the number of labels that count in this batch. Default: its samples. */
  readonly weigh?: WeighFn;
  /**
   * The loss for these training data, if it depends on them, such as class weights `"balanced"`. The trainer calls it with
   * all targets, and the number of targets in a sample.
   */
  readonly fit?: (targets: ArrayLike<number>, width: number) => Loss;
}

/** How much a batch counts next to others, such as the number of its labels that are not masked: a number ≥ 0. */
export type WeighFn = (batch: HostBatch) => number;

/** A metric carried as sums, so that a mean over an epoch is exact whatever the batch sizes. */
export interface Metric {
  /** Computed in evaluations alone: for one that is costly, or whose outputs a training step does not have. Default false. */
  readonly evalOnly?: boolean;
  /** Scalars to be added up over batches, computed inside the program. */
  update(outputs: Outputs, batch: TensorBatch): Tensors;
  compute(sums: Readonly<Record<string, number>>): number;
}

/** Several values of one metric by name: `val/f1/cat`. The name `""` stands for the metric itself: `val/f1`. */
export type MetricValues = Readonly<Record<string, number>>;

/** A metric whose sums are arrays, such as counts by class, or which has several values. */
export interface ArrayMetric {
  readonly evalOnly?: boolean;
  /** Room for its sums: the most numbers that they have together. */
  readonly size: number;
  /** Names of its values, if there are several; `*` for names that only the data tells. */
  readonly values?: readonly string[];
  /** Arrays of fixed shapes to be added up over batches, computed inside the program. */
  update(outputs: Outputs, batch: TensorBatch): Tensors;
  compute(sums: Readonly<Record<string, HostArray<Float64Array>>>): number | MetricValues;
  /** The same metric with names for its classes, for one that was given none; an experiment knows them. */
  named?(names: readonly string[]): ArrayMetric;
  /** A drawing of an evaluation's sums, for the terminal and for loggers that take images. */
  figure?(sums: Readonly<Record<string, HostArray<Float64Array>>>): Figure;
}

/** Numbers, and a drawing of them as lines of text and as an image. */
export interface Figure {
  readonly data: HostArray;
  readonly text: string;
  readonly image: ImageMedia;
}

/**
 * A metric that sums cannot express, such as ROC AUC, which compares every row with every other: its rows are kept in
 * memory until the evaluation ends, and gathered from all ranks. Training steps do not compute it.
 */
export interface RowMetric {
  /** The most rows that an evaluation may keep, on all ranks together; more are an error. */
  readonly maxRows: number;
  readonly values?: readonly string[];
  /** Arrays whose first dimension is the row, computed inside the program. */
  update(outputs: Outputs, batch: TensorBatch): Tensors;
  /** Makes fewer numbers of a batch's rows, on the host, such as one result for each row. Default: keeps them as they are. */
  reduce?(rows: Readonly<Record<string, HostArray>>): Readonly<Record<string, HostArray>>;
  compute(rows: Readonly<Record<string, HostArray>>): number | MetricValues;
  named?(names: readonly string[]): RowMetric;
}

/** What the trainer's option `metrics` takes. */
export type AnyMetric = Metric | ArrayMetric | RowMetric;

export type MaybePromise<T> = T | Promise<T>;

/** A position in the data: enough to continue with the very next sample. */
export interface LoaderState {
  readonly epoch: number;
  /** Batches handed out and consumed in this epoch. */
  readonly batches: number;
  /** Samples consumed in this epoch. */
  readonly samples: number;
}

/** A rank's part of a batch, in a process group. */
export interface Share<B = HostBatch> {
  readonly batch: B;
  /** Samples of the whole batch. */
  readonly samples: number;
  /** The rank has none of the batch's rows: `batch` has rows of another rank, which do not count. */
  readonly empty: boolean;
}

/** Where batches come from. Its position is plain data, so that a resumed run continues with the very next batch. */
export interface Loader<B = HostBatch> {
  /** Batches in one epoch; undefined when only the end of the stream will tell. */
  readonly length: number | undefined;
  /** All values of a batch field, in the order of the data, if the loader has them in memory. */
  column?(field: string): HostArray | undefined;
  /** Starts epoch `epoch` at its first batch. `seed` is the trainer's, used unless the loader has its own. */
  begin(epoch: number, seed: number): void;
  /** The next batch, or undefined at the end of the epoch. A promise only when the data really is asynchronous. */
  next(): MaybePromise<B | undefined>;
  /**
   * `next` for one rank of a process group: makes only its rows, while the position counts the whole batch. Without
   * this method the whole batch is made, and then split.
   */
  nextShare?(rank: number, size: number): MaybePromise<Share<B> | undefined>;
  /** Passes over a batch without making it, where the data allows; false at the end of the epoch. */
  skip(): MaybePromise<boolean>;
  /** The consumed position; batches prefetched but not yet returned by `next` do not count. */
  state(): LoaderState;
  /** Goes to a position: the following `next()` returns exactly what it would have returned there. Call after `begin`. */
  load(state: LoaderState): MaybePromise<void>;
  /** The trainer has copied this batch of `next`, and no hook has read it: its arrays may be filled again. */
  reuse?(batch: B): void;
  /** Ends background work (prefetching, open iterators). */
  close?(): MaybePromise<void>;
}
