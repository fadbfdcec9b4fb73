// What a predictor takes and returns.
import type { HostArray, TypedArray } from "../core/arrays.ts";
import type { Table } from "../data/table/table.ts";

/** One row of input: columns by name, or, for a model without a preprocessor, inputs by name. */
export type InputRow = Readonly<Record<string, unknown>>;

/** Many rows of input: an array (or a typed array, or `{ data, shape }`) for each column. */
export type InputColumns = Readonly<Record<string, readonly unknown[] | HostArray | TypedArray>>;

/**
 * The outputs for one row, by name. With a preprocessor, the target's name has its label or its value, and
 * `probabilities` one number for each label; without one, each output has its number or its numbers.
 */
export type Prediction = Readonly<Record<string, PredictedValue>>;

/** One output of one row. */
export type PredictedValue = string | number | TypedArray | HostArray | Readonly<Record<string, number>>;

/** The outputs for many rows that were given as columns: an array for each output, one entry for each row. */
export type PredictionColumns = Readonly<Record<string, PredictedColumn>>;

/** One output of all rows. */
export type PredictedColumn = readonly string[] | TypedArray | HostArray | Readonly<Record<string, TypedArray>>;

/** An input or output that is a tensor: `null` stands for the rows of a batch. */
export interface TensorSpec {
  readonly shape: readonly (number | null)[];
  readonly dtype: string;
}

/** A column of raw input. */
export interface ColumnSpec {
  readonly type: "number" | "boolean" | "date" | "string";
}

/** What a predicted label or value can be. */
export interface TargetSpec {
  readonly type: "label" | "number" | "probabilities";
  /** The labels, in the order of the model's outputs. */
  readonly names?: readonly string[];
}

/** What a predictor takes and returns, by name. */
export interface PredictSignature {
  /** Undefined if the model is given by code and its run does not say. */
  readonly inputs: Readonly<Record<string, ColumnSpec | TensorSpec>> | undefined;
  readonly outputs: Readonly<Record<string, TargetSpec | TensorSpec>> | undefined;
}

/** How one call is handled. */
export interface PredictCallOptions {
  /** An aborted call rejects with the signal's reason; rows that wait are not computed. */
  readonly signal?: AbortSignal;
}

/** What a predictor has done so far. */
export interface PredictorStats {
  /** Rows that were computed. */
  readonly rows: number;
  readonly batches: number;
  /** Rows that wait for their result now. */
  readonly pending: number;
}

/**
 * Computes predictions. Calls may run at the same time: rows that wait together are computed as one batch.
 * @example const { churn, probabilities } = await predict({ age: 41, plan: "basic" });
 */
export interface Predictor<Output extends object = Prediction> extends AsyncDisposable {
  (rows: readonly InputRow[], options?: PredictCallOptions): Promise<Output[]>;
  (row: InputRow, options?: PredictCallOptions): Promise<Output>;
  /** The outputs as columns, for columns or a table. */
  columns(columns: InputColumns | Table, options?: PredictCallOptions): Promise<PredictionColumns>;
  readonly signature: PredictSignature;
  /** The metrics of the weights, if their run recorded some. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Where the weights came from. */
  readonly source: string;
  /** Which engine computes. */
  readonly engine: string;
  readonly stats: PredictorStats;
  /** Compiles the program for every batch size, so that no later call waits for it. */
  warmUp(): Promise<void>;
  /** Computes the rows that wait, without waiting for others. Settles when all have their results. */
  flush(): Promise<void>;
  /** Waits for the calls so far, then frees the weights and the engine. */
  close(): Promise<void>;
}
