// The seam between raw rows and a model: with a preprocessor (table-codec.ts) or with tensors alone (tensor-codec.ts).
import type { HostBatch, HostTensors } from "../core/model.ts";
import type { Table } from "../data/table/table.ts";
import type { InputColumns, Prediction, PredictionColumns, PredictSignature } from "./types.ts";

/** Rows of columns that can be taken piece by piece. */
export interface ColumnRows {
  readonly rows: number;
  batch(from: number, to: number): HostBatch;
}

/** Turns rows into a batch, and a model's outputs into predictions. `Row` is a row that was checked. */
export interface Codec<Row> {
  readonly signature: PredictSignature;
  /** Checks one row; `position` is its place in the call, for the InputError. */
  check(row: unknown, position: number): Row;
  batch(rows: readonly Row[]): HostBatch;
  columns(columns: InputColumns | Table): ColumnRows;
  /** A batch of this size with any valid values; undefined if the model's inputs are not known. */
  example(rows: number): HostBatch | undefined;
  predictions(outputs: HostTensors, rows: number): Prediction[];
  predictionColumns(outputs: HostTensors): PredictionColumns;
}
