// A transform: what it learns from a column of the training data, and how it makes features of a column with that.
// Preprocessor runs transforms one after the other; each file in transforms/ has one or two of them.
import { DataError } from "../../core/errors.ts";
import type { Check, Json } from "../../core/options.ts";
import type { Column, ColumnType } from "../table/column.ts";

/** What a transform does with a column once it is fitted: it writes features, gives the next transform a column, or both. */
export interface Step {
  /** What is added to the column's name for each feature that `write` writes: `=basic`. */
  readonly features: readonly string[];
  /** Features of row i go to out[at + i · stride] and the places after it. They are 0 before. */
  write?(column: Column, out: Float32Array | Int32Array, at: number, stride: number): void;
  /** The features are whole numbers in a field of their own, not in `x`. */
  readonly field?: string;
  /** The column for the next transform, or, after the last one, the feature of the column's own name. */
  map?(column: Column): Column;
  /** What `map` gives. */
  readonly gives?: ColumnType;
  /** The inverse of `map`, for predictions of a target. */
  invert?(value: number): number;
  /** The classes of a target. */
  readonly classes?: readonly string[];
}

/**
 * How a column becomes features: `standardise()`, `oneHot({ minCount: 10 })` and so on make one. There are no others: a
 * fitted preprocessor must be readable without the code of the program that fitted it.
 */
export interface Transform {
  /** Its name in a config. */
  readonly use: string;
  /** The options that it was made with. */
  readonly options: Readonly<Record<string, Json>>;
  readonly takes: readonly ColumnType[];
  /** It accepts missing values. */
  readonly acceptsMissing: boolean;
  /** Learns from a column of the training data; the result is plain data. */
  fit(column: Column): Json;
  /** The fitted transform; throws when `state` is not what `fit` returned, since it may come from a file. */
  open(state: unknown, type: ColumnType): Step;
  /** Of `auto` alone: the transforms that it chooses in its place, and why. */
  choose?(column: Column): Choice;
}

export interface Choice {
  readonly transforms: readonly Transform[];
  readonly why: string;
}

/** How one transform works. `S` is what it learns. */
interface Behaviour<S extends object> {
  readonly takes: readonly ColumnType[];
  readonly acceptsMissing?: boolean;
  /** The form of what it learns. */
  readonly state: { readonly [K in keyof S]: Check };
  fit(column: Column): S;
  open(state: S, type: ColumnType): Step;
}

/** A transform with checks of what is read back. */
export function makeTransform<S extends object>(use: string, options: object, behaviour: Behaviour<S>): Transform {
  const { takes, acceptsMissing = false, state: checks, fit, open } = behaviour;
  return {
    use,
    options: options as Readonly<Record<string, Json>>,
    takes,
    acceptsMissing,
    fit: (column) => fit(column) as Json,
    open(state, type) {
      checkState(use, state, checks);
      return open(state as S, type);
    },
  };
}

function checkState(use: string, state: unknown, checks: Readonly<Record<string, Check>>): void {
  if (typeof state !== "object" || state === null) throw new DataError(`the state of \`${use}\` is not an object.`);
  for (const [key, check] of Object.entries(checks)) {
    const value: unknown = Object.hasOwn(state, key) ? (state as Record<string, unknown>)[key] : undefined;
    if (!check.test(value)) throw new DataError(`\`${key}\` in the state of \`${use}\` is not ${check.expected}.`);
  }
}

/** A value that a transform cannot use. The preprocessor adds the column and the place in the file. */
export class CellError extends Error {
  /** Relative to the rows that the transform was given, or, with a column, to the table. */
  readonly row: number;
  readonly column: string | undefined;

  constructor(row: number, message: string, column?: string) {
    super(message);
    this.row = row;
    this.column = column;
  }
}

/** Columns that are numbers or can be read as such. */
export const NUMERIC: readonly ColumnType[] = ["number", "boolean", "date"];
export const ANY_TYPE: readonly ColumnType[] = ["number", "boolean", "date", "string"];
