// Rows of a model with a preprocessor: raw columns by name, checked one by one, and predictions in the target's terms.
import { type HostArray, isHostArray, isTypedArray, type TypedArray } from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import type { HostBatch, HostTensors } from "../core/model.ts";
import { didYouMean } from "../core/names.ts";
import { show } from "../core/options.ts";
import type { Preprocessor } from "../data/preprocess/preprocessor.ts";
import { CellError } from "../data/preprocess/transform.ts";
import { type Cell, type ColumnType, EXPECTED } from "../data/table/column.ts";
import { dateOf } from "../data/table/dates.ts";
import { Table } from "../data/table/table.ts";
import type { Codec, ColumnRows } from "./codec.ts";
import { ONLY_OUTPUT } from "./forward-pass.ts";
import { InputError } from "./input-error.ts";
import type { TensorCodec } from "./tensor-codec.ts";
import type { InputColumns, Prediction, PredictionColumns, PredictSignature, TargetSpec, TensorSpec } from "./types.ts";

/** One value for each column that the preprocessor needs, in its order. */
type Cells = readonly Cell[];

/** The key of the probabilities of labels in a prediction. */
const PROBABILITIES = "probabilities";

export class TableCodec implements Codec<Cells> {
  readonly signature: PredictSignature;
  readonly #preprocessor: Preprocessor;
  readonly #columns: readonly (readonly [string, ColumnType])[];
  /** What the model itself takes and returns. */
  readonly #tensors: TensorCodec;

  constructor(preprocessor: Preprocessor, tensors: TensorCodec) {
    this.#preprocessor = preprocessor;
    this.#tensors = tensors;
    this.#columns = Object.entries(preprocessor.inputs);
    const inputs = Object.fromEntries(this.#columns.map(([name, type]) => [name, { type }]));
    this.signature = { inputs, outputs: outputsOf(preprocessor, tensors.signature.outputs) };
  }

  check(row: unknown, position: number): Cells {
    if (typeof row !== "object" || row === null || Array.isArray(row))
      throw new InputError(position, undefined, `expected an object with a value for each column, got ${show(row)}.`);
    const given = row as Readonly<Record<string, unknown>>;
    return this.#columns.map(([name, type]) => {
      if (!Object.hasOwn(given, name)) throw missing(position, name, Object.keys(given));
      const value = given[name];
      if (isCell(value, type)) return value ?? null;
      throw new InputError(position, name, `expected ${EXPECTED[type]}, got ${show(value)}.`);
    });
  }

  batch(rows: readonly Cells[]): HostBatch {
    const columns = this.#columns.map(([name], i) => [name, rows.map((row) => row[i]!)]);
    const table = Table.fromColumns(
      Object.fromEntries(columns) as Record<string, Cell[]>,
      this.#preprocessor.inputs,
      "the rows",
    );
    try {
      return this.#preprocessor.transform(table, { target: false });
    } catch (error) {
      const cause = error instanceof DataError ? error.cause : undefined;
      throw cause instanceof CellError ? new InputError(cause.row, cause.column, `it ${cause.message}`) : error;
    }
  }

  columns(given: InputColumns | Table): ColumnRows {
    const table = given instanceof Table ? given : this.#table(given);
    return {
      rows: table.rowCount,
      batch: (from, to) => this.#preprocessor.transform(table.slice(from, to), { target: false }),
    };
  }

  /** Columns that the preprocessor does not need are left out: they may have any type. */
  #table(given: InputColumns): Table {
    const schema = this.#preprocessor.inputs;
    const needed = this.#columns.map(([name]) => {
      if (Object.hasOwn(given, name)) return [name, given[name]!] as const;
      const names = Object.keys(given);
      throw new DataError(`predict.columns: column \`${name}\` is missing.${didYouMean(name, names)}`);
    });
    return Table.fromColumns(Object.fromEntries(needed) as Record<string, Cell[]>, schema, "the columns");
  }

  example(rows: number): HostBatch | undefined {
    return this.#tensors.example(rows);
  }

  predictions(outputs: HostTensors, rows: number): Prediction[] {
    const columns = this.predictionColumns(outputs);
    const { target } = this.#preprocessor;
    if (!target) return this.#tensors.predictions(outputs, rows);
    return Array.from({ length: rows }, (_, row) =>
      Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, valueAt(column, row)])),
    );
  }

  predictionColumns(outputs: HostTensors): PredictionColumns {
    const { target } = this.#preprocessor;
    if (!target) return outputs;
    const name = [ONLY_OUTPUT, target.column].find((each) => Object.hasOwn(outputs, each));
    if (name === undefined) return outputs;
    const { [name]: own, ...others } = outputs;
    const decoded = this.#preprocessor.decode(own!);
    const named: PredictionColumns =
      decoded.kind === "label"
        ? { [decoded.column]: decoded.labels, [PROBABILITIES]: decoded.probabilities }
        : { [decoded.column]: decoded.values };
    return { ...named, ...others };
  }
}

function outputsOf(
  { target }: Preprocessor,
  outputs: PredictSignature["outputs"],
): Readonly<Record<string, TargetSpec | TensorSpec>> | undefined {
  if (!target) return outputs;
  if (target.kind === "number") return { [target.column]: { type: "number" } };
  const { names } = target;
  return { [target.column]: { type: "label", names }, [PROBABILITIES]: { type: "probabilities", names } };
}

function missing(row: number, name: string, names: readonly string[]): InputError {
  return new InputError(row, name, `it is missing.${didYouMean(name, names)} A value that is not known is null.`);
}

/** Whether a column of this type takes the value. Null, undefined and NaN are missing values. */
function isCell(value: unknown, type: ColumnType): value is Cell | undefined {
  if (value === null || value === undefined) return true;
  if (type === "number") return typeof value === "number" && Math.abs(value) !== Infinity;
  if (type !== "date") return typeof value === type;
  return value instanceof Date || (typeof value === "string" && !Number.isNaN(dateOf(value)));
}

function valueAt(column: PredictionColumns[string], row: number): Prediction[string] {
  if (Array.isArray(column) || isTypedArray(column)) return (column as readonly string[] | TypedArray)[row]!;
  if (isHostArray(column)) return rowOf(column, row);
  const entries = Object.entries(column as Readonly<Record<string, TypedArray>>);
  return Object.fromEntries(entries.map(([name, values]) => [name, values[row]!]));
}

function rowOf({ data, shape }: HostArray, row: number): HostArray {
  const width = data.length / shape[0]!;
  return { data: data.slice(row * width, (row + 1) * width), shape: shape.slice(1) };
}
