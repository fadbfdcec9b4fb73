// The Preprocessor: from the columns of a table to the arrays that a model is trained on. It is fitted on the training data
// only, is saved with the model, and does the same with every later table.
import type { HostArray } from "../../core/arrays.ts";
import { ContextError, DataError } from "../../core/errors.ts";
import type { HostBatch } from "../../core/model.ts";
import type { Schema } from "../table/column.ts";
import type { Table } from "../table/table.ts";
import { inColumn, type Destination } from "./chain.ts";
import { type FittedParts, fitParts } from "./fit.ts";
import { fingerprintOf } from "./hash.ts";
import { type PreprocessorJson, fromPlain, toPlain } from "./json.ts";
import { numbersOf, viewOf } from "./numbers.ts";
import { type PreprocessorOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { type Prediction, type TargetInfo, columnFor } from "./target.ts";

/** Rows that are transformed at a time: few enough that their features stay in the processor's cache. */
const BLOCK = 2048;

/** Options of a preprocessor's `transform`. */
export interface TransformOptions {
  /** Make `y` and `weight` as well (default true). Rows to predict for have neither. */
  readonly target?: boolean;
}

/**
 * Makes numbers of the columns of a table. What it learns, it learns from the training data; every later table is
 * transformed in the same way.
 * @example
 * const preprocessor = new Preprocessor({ columns: { age: ["impute", "standardise"], plan: "oneHot" }, target: "churn" });
 * const { x, y } = preprocessor.fit(train).transform(train);
 */
export class Preprocessor {
  #options: ResolvedOptions;
  #parts: FittedParts | undefined;

  constructor(options: PreprocessorOptions) {
    this.#options = resolveOptions(options);
  }

  /** Learns means, categories, vocabularies and so on from the training data. */
  fit(train: Table): this {
    this.#parts = fitParts(this.#options, train);
    return this;
  }

  /**
   * The rows of a table as arrays: `x` [rows, width], `y` and `weight`, and a field for each `vocabulary`. A column that
   * is missing, of another type, or has a value that its transforms cannot use is an error that names it and the row.
   */
  transform(table: Table, { target = true }: TransformOptions = {}): HostBatch {
    const { chains, target: aim, weights } = this.#fitted;
    const rows = table.rowCount;
    const { width } = this;
    const x = allocate(rows, width);
    const fields = Object.fromEntries(
      chains.flatMap((chain) =>
        chain.fields.map(({ name, width: size }) => [name, { size, data: new Int32Array(rows * size) }]),
      ),
    );
    const columns = chains.map((chain) => columnFor(table, chain));
    const widths = chains.map(({ features }) => features.length);
    for (let from = 0; from < rows; from += BLOCK) {
      const to = Math.min(from + BLOCK, rows);
      const own: Record<string, Destination> = {};
      for (const [name, { size, data }] of Object.entries(fields))
        own[name] = { out: data, at: from * size, stride: size };
      let at = from * width;
      for (let i = 0; i < chains.length; i++) {
        const chain = chains[i]!;
        const destination = { out: x, at, stride: width };
        inColumn(table, chain.column, from, () => chain.write(viewOf(columns[i]!, from, to), destination, own));
        at += widths[i]!;
      }
    }
    return {
      ...(width > 0 && { x: { data: x, shape: [rows, width] } }),
      ...Object.fromEntries(
        Object.entries(fields).map(([name, { size, data }]) => [name, { data, shape: [rows, size] }]),
      ),
      ...(target && aim && { y: aim.arrayOf(table) }),
      ...(target && weights !== undefined && { weight: weightsOf(table, weights) }),
    };
  }

  /** The columns that `transform` needs, with their types; without the target and the weights. */
  get inputs(): Schema {
    return Object.fromEntries(this.#fitted.chains.map(({ column, type }) => [column, type]));
  }

  /** The number of features in `x`. */
  get width(): number {
    return this.#fitted.chains.reduce((sum, { features }) => sum + features.length, 0);
  }

  /** The name of each feature in `x`: `age`, `plan=basic`. */
  get featureNames(): readonly string[] {
    return this.#fitted.chains.flatMap(({ features }) => features);
  }

  /** What `auto` chose for each column, and why. */
  get choices(): readonly string[] {
    return this.#fitted.choices;
  }

  /** What is predicted: classes with their names, or a number. */
  get target(): TargetInfo | undefined {
    return this.#fitted.target?.info;
  }

  /** How many outputs a model needs for the target: one for each class, or 1. */
  get outputWidth(): number | undefined {
    return this.#fitted.target?.width;
  }

  /** 16 hexadecimal digits that change when anything that was learnt does. */
  get fingerprint(): string {
    return fingerprintOf(JSON.stringify(this));
  }

  /** A model's outputs as predictions: classes with their probabilities, or numbers in the target's own unit. */
  decode(outputs: HostArray): Prediction {
    const { target } = this.#fitted;
    if (target) return target.decode(outputs);
    throw new ContextError("Preprocessor: it has no target, so outputs cannot be decoded. Give it `target`.");
  }

  /** Plain data from which `Preprocessor.fromJSON` makes the same preprocessor, bit for bit. */
  toJSON(): PreprocessorJson {
    return toPlain(this.#fitted);
  }

  /** A fitted preprocessor from what `toJSON` gave. It is checked, since it may come from anywhere. */
  static fromJSON(json: unknown): Preprocessor {
    const { parts, options } = fromPlain(json);
    const preprocessor = new Preprocessor({ columns: "auto" });
    preprocessor.#options = options;
    preprocessor.#parts = parts;
    return preprocessor;
  }

  get #fitted(): FittedParts {
    if (this.#parts) return this.#parts;
    throw new ContextError("Preprocessor: call fit(train) first: it has not learnt from any data yet.");
  }
}

function allocate(rows: number, width: number): Float32Array {
  try {
    return new Float32Array(rows * width);
  } catch (cause) {
    const gigabytes = ((rows * width * 4) / 2 ** 30).toFixed(0);
    throw new DataError(
      `Preprocessor: ${rows} rows of ${width} features need ${gigabytes} GiB, more than there is. Use fewer features (maxCategories, a smaller \`size\`), or fewer rows at a time.`,
      { cause },
    );
  }
}

function weightsOf(table: Table, name: string): HostArray {
  const column = table.column(name);
  if (column.type === "string")
    throw new DataError(`Preprocessor: ${table.source}: the weights \`${name}\` are text, not numbers.`);
  const values = numbersOf(column);
  const bad = values.findIndex((value) => !(value >= 0 && value < Infinity));
  if (bad >= 0)
    throw new DataError(
      `Preprocessor: ${table.where(bad)}: the weight \`${name}\` is ${values[bad]}. Expected a number ≥ 0.`,
    );
  return { data: Float32Array.from(values), shape: [values.length] };
}
