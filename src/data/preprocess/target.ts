// The target: the column that is predicted, as `y`, and predictions turned back into its classes or its unit.
import { type HostArray, sizeOf } from "../../core/arrays.ts";
import { DataError, OptionError } from "../../core/errors.ts";
import { type Column, lengthOf } from "../table/column.ts";
import type { Table } from "../table/table.ts";
import { transformOf } from "./catalogue.ts";
import { Chain, inColumn } from "./chain.ts";
import { firstMissing } from "./numbers.ts";
import type { Choice, Transform } from "./transform.ts";

/** What a target is: classes with their names, or a number in the column's own unit. */
export type TargetInfo =
  | { readonly column: string; readonly kind: "label"; readonly names: readonly string[] }
  | { readonly column: string; readonly kind: "number" };

/** Predictions as columns: a class with the probability of each, or numbers in the target's own unit. */
export type Prediction =
  | {
      readonly kind: "label";
      readonly column: string;
      /** The most probable class of each row. */
      readonly labels: readonly string[];
      readonly probabilities: Readonly<Record<string, Float64Array>>;
    }
  | { readonly kind: "number"; readonly column: string; readonly values: Float64Array };

/** Classes for text, booleans, and the numbers 0 and 1; other numbers are standardised. */
export function chooseForTarget(column: Column): Choice {
  const make = (use: string): readonly Transform[] => [transformOf("target", use)];
  if (column.type === "string") return { transforms: make("label"), why: "text: classes, for crossEntropy" };
  if (column.type === "boolean") return { transforms: make("label"), why: "boolean: two classes, for crossEntropy" };
  if (column.values.every((value) => value === 0 || value === 1))
    return { transforms: make("label"), why: "only 0 and 1: two classes, for crossEntropy" };
  return {
    transforms: make("standardise"),
    why: `${column.type}: metrics of the training are in standard deviations, predictions in the column's own unit`,
  };
}

export class Target {
  readonly chain: Chain;

  constructor(chain: Chain) {
    this.chain = chain;
    const { column } = chain;
    const isNumber = chain.features.length === 1 && chain.isInvertible && chain.fields.length === 0;
    if (chain.classes === undefined && !isNumber)
      throw new OptionError(
        `Preprocessor: the target \`${column}\` cannot be turned back from its transforms. Use label, or standardise, minMax, log, quantile and passThrough.`,
      );
  }

  get info(): TargetInfo {
    const { column, classes } = this.chain;
    return classes ? { column, kind: "label", names: classes } : { column, kind: "number" };
  }

  /** Outputs that a model needs: one for each class, or one number. */
  get width(): number {
    return this.chain.classes?.length ?? 1;
  }

  /** Classes are whole numbers [rows], as crossEntropy takes them; numbers are [rows, 1], as a model with one output gives them. */
  arrayOf(table: Table): HostArray {
    const { chain } = this;
    const column = columnFor(table, chain);
    checkTarget(table, chain.column);
    const rows = lengthOf(column);
    const out = chain.classes ? new Int32Array(rows) : new Float32Array(rows);
    inColumn(table, chain.column, 0, () => chain.write(column, { out, at: 0, stride: 1 }, {}));
    return { data: out, shape: chain.classes ? [rows] : [rows, 1] };
  }

  decode(outputs: HostArray): Prediction {
    const { chain } = this;
    const rows = outputs.shape[0] ?? 0;
    const width = rows === 0 ? this.width : sizeOf(outputs.shape) / rows;
    const bad = outputs.data.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0)
      throw new DataError(
        `Preprocessor: the model's output for row ${Math.floor(bad / width)} is ${outputs.data[bad]}, so \`${chain.column}\` cannot be predicted.`,
      );
    const { classes } = chain;
    const expected = classes ? (classes.length === 2 ? "2, or 1" : String(classes.length)) : "1";
    if (outputs.shape.length > 2 || !(width === this.width || (classes?.length === 2 && width === 1)))
      throw new DataError(
        `Preprocessor: the model's outputs have shape [${outputs.shape.join(", ")}], and for \`${chain.column}\` each row needs ${expected}.`,
      );
    if (classes) return { kind: "label", column: chain.column, ...classesOf(outputs.data, rows, width, classes) };
    const values = Float64Array.from(outputs.data, (value) => chain.invert(value));
    const beyond = values.findIndex((value) => !Number.isFinite(value));
    if (beyond >= 0)
      throw new DataError(
        `Preprocessor: the model's output for row ${beyond} is ${outputs.data[beyond]}, for which \`${chain.column}\` would be ${values[beyond]}.`,
      );
    return { kind: "number", column: chain.column, values };
  }
}

/** A row without a target has nothing to learn from, and nothing to be compared with. */
export function checkTarget(table: Table, name: string): void {
  const row = firstMissing(table.column(name));
  if (row >= 0)
    throw new DataError(
      `Preprocessor: ${table.where(row)}: the target \`${name}\` is missing. Leave out rows without one.`,
    );
}

/** Softmax over the outputs of a row; of a single output, the sigmoid is the probability of the second class. */
function classesOf(
  logits: HostArray["data"],
  rows: number,
  width: number,
  classes: readonly string[],
): { labels: string[]; probabilities: Record<string, Float64Array> } {
  const probabilities = classes.map(() => new Float64Array(rows));
  const labels = Array.from({ length: rows }, (_, row) => {
    const own = width === 1 ? [0, logits[row]!] : Array.from(logits.subarray(row * width, (row + 1) * width));
    const largest = Math.max(...own);
    let sum = 0;
    for (const value of own) sum += Math.exp(value - largest);
    for (const [i, value] of own.entries()) probabilities[i]![row] = Math.exp(value - largest) / sum;
    return classes[own.indexOf(largest)]!;
  });
  return { labels, probabilities: Object.fromEntries(classes.map((name, i) => [name, probabilities[i]!])) };
}

/** The column that a chain was fitted on, in another table. */
export function columnFor(table: Table, { column: name, type }: Chain): Column {
  const column = table.column(name);
  if (column.type === type) return column;
  throw new DataError(
    `Preprocessor: ${table.source}: \`${name}\` is a column of type ${column.type}, and was of type ${type} in the training data. Declare it where it is read: columns: { ${name}: ${type} }.`,
  );
}
