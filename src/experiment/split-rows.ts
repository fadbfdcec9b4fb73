// What the splits share: rows by number, the values of a field, and cutting rows into train, val and test.
import { isTypedArray, toHostArray, type ArrayInput, type TypedArray } from "../core/arrays.ts";
import { DataError, OptionError } from "../core/errors.ts";
import type { Datasets } from "../core/outer-events.ts";
import { is, show } from "../core/options.ts";
import { didYouMean } from "../core/names.ts";
import { permutation } from "../data/random.ts";
import { type Rows, gather, toRows } from "../data/indexed.ts";
import type { Arrays } from "../data/source.ts";
import { type Column, NO_BOOLEAN, NO_STRING } from "../data/table/column.ts";
import { Table } from "../data/table/table.ts";
import type { HostBatch } from "../core/model.ts";
import type { SplitData } from "./types.ts";

/** A split of rows, of a table or of arrays by name, whatever their names: each part is of the data's own type. */
export type RowSplit = <D extends object & { readonly [K in keyof D]: D extends Table ? unknown : ArrayInput }>(
  data: D,
  seed: number,
) => SplitData<D>;

/** Which rows go where, by their numbers. */
export interface RowParts {
  readonly train: readonly number[];
  readonly val: readonly number[];
  readonly test: readonly number[];
}

/** A share of the rows; 0 leaves the part out. */
export const isShare = is.fraction;

export function checkShares(owner: string, val: number, test: number): void {
  if (val + test < 1) return;
  throw new OptionError(
    `${owner}: \`val\` (${val}) and \`test\` (${test}) leave nothing to train on: together they must be less than 1.`,
  );
}

/** Checks that the data is a table or arrays by name: other data has no rows to count. */
export function rowsOf(owner: string, data: object): Rows {
  if (data instanceof Table) {
    const fields = Object.entries(data.columns).map(([name, column]) => [name, toHostArray(valuesIn(column), name)]);
    return { fields: Object.fromEntries(fields) as HostBatch, count: data.rowCount };
  }
  if (!is.object.test(data) || isTypedArray(data)) {
    throw new DataError(
      `${owner}: it splits a Table, or arrays by name such as { x, y }, got ${show(data)}. For other data give a function of your own: split: (data, seed) => ({ main: { train, val, test } }).`,
    );
  }
  return toRows(owner, data as Arrays);
}

/** The numbers of a column: the codes of its strings. What is missing is NaN in each. */
function valuesIn(column: Column): TypedArray {
  if (column.type === "number" || column.type === "date") return column.values;
  const [codes, none] = column.type === "string" ? [column.codes, NO_STRING] : [column.values, NO_BOOLEAN];
  return Float64Array.from(codes, (code) => (code === none ? NaN : code));
}

/** The values of a field with one number in each row. */
function valuesOf(owner: string, option: string, rows: Rows, field: string): TypedArray {
  const names = Object.keys(rows.fields);
  if (!Object.hasOwn(rows.fields, field)) {
    throw new DataError(
      `${owner}: \`${option}\` names the field \`${field}\`, which the data does not have.${didYouMean(field, names)} It has: ${names.join(", ")}.`,
    );
  }
  const { data, shape } = rows.fields[field]!;
  if (data.length !== rows.count) {
    throw new DataError(
      `${owner}: \`${option}\` needs one number in each row, but \`${field}\` has shape [${shape.join(", ")}].`,
    );
  }
  return data;
}

/** Times or groups: none may be missing. */
export function presentOf(owner: string, option: string, rows: Rows, field: string): TypedArray {
  const values = valuesOf(owner, option, rows, field);
  const bad = values.findIndex((value) => Number.isNaN(value));
  if (bad < 0) return values;
  throw new DataError(
    `${owner}: \`${field}\` of row ${bad} is NaN (missing): every row needs ${option === "by" ? "a group" : "a time"}.`,
  );
}

/** The numbers of the rows: shuffled by the seed, or in order. */
export const ordered = (count: number, shuffle: boolean, seed: number): number[] =>
  shuffle ? [...permutation(count, seed, 0)] : Array.from({ length: count }, (_, i) => i);

/** The rows sorted by their value in a field; rows of the same value keep their order. */
export function byClass(owner: string, rows: Rows, field: string, order: readonly number[]): number[] {
  const values = valuesOf(owner, "stratify", rows, field);
  const classes = new Set(values).size;
  if (classes * 2 > rows.count) {
    throw new DataError(
      `${owner}: \`stratify\` needs classes, but \`${field}\` has ${classes} different values in ${rows.count} rows.`,
    );
  }
  // Rows whose class is missing are a class of their own, after the others.
  const rank = (row: number): number => (Number.isNaN(values[row]) ? Infinity : values[row]!);
  const compare = (a: number, b: number): number => (rank(a) === rank(b) ? 0 : rank(a) - rank(b));
  return order.toSorted(compare);
}

/** The datasets, with rows in the order of the data; a part without rows is left out. */
export function datasetsOf<D extends object>(data: D, rows: Rows, parts: RowParts): Datasets<D> {
  const { train, val, test } = parts;
  return {
    train: pick(data, rows, train),
    ...(val.length > 0 && { val: pick(data, rows, val) }),
    ...(test.length > 0 && { test: pick(data, rows, test) }),
  };
}

/** A record of the same type: a bare typed array stays one. */
function pick<D extends object>(data: D, rows: Rows, numbers: readonly number[]): D {
  const order = Uint32Array.from(numbers).sort();
  if (data instanceof Table) return data.take(order) as D & Table;
  const picked = Object.entries(gather(rows, order, 0, order.length));
  return Object.fromEntries(
    picked.map(([name, array]) => [name, isTypedArray((data as Arrays)[name]) ? array.data : array]),
  ) as D;
}

export function needRows(owner: string, part: string, wanted: string, count: number, of: number): void {
  if (count > 0) return;
  throw new DataError(`${owner}: of ${of} rows, \`${part}\` (${wanted}) would have none.`);
}

interface CutOptions {
  readonly val: number;
  readonly test: number;
  readonly shuffle: boolean;
  readonly stratify: string | undefined;
}

export function checkStratify(owner: string, shuffle: boolean, stratify: string | undefined): void {
  if (shuffle || stratify === undefined) return;
  throw new OptionError(`${owner}: \`stratify\` draws rows of each class at random: leave out \`shuffle: false\`.`);
}

/** Cuts rows into train, val and test by their shares. Without `shuffle` they stay in order: train first, test last. */
export function cutRows(owner: string, rows: Rows, options: CutOptions, seed: number): RowParts {
  const { val, test, shuffle, stratify } = options;
  const { count } = rows;
  const order = ordered(count, shuffle, seed);
  const parts =
    stratify === undefined ? inLine(order, val, test) : evenly(byClass(owner, rows, stratify, order), val, test);
  if (val > 0) needRows(owner, "val", `${val}`, parts.val.length, count);
  if (test > 0) needRows(owner, "test", `${test}`, parts.test.length, count);
  needRows(owner, "train", "the rest", parts.train.length, count);
  return parts;
}

function inLine(order: readonly number[], val: number, test: number): RowParts {
  const tested = Math.round(order.length * test);
  const end = order.length - tested;
  const start = Math.max(0, end - Math.round(order.length * val));
  return { train: order.slice(0, start), val: order.slice(start, end), test: order.slice(end) };
}

/** Each row goes to the part that is furthest below its share, so that every class is cut in the same proportions. */
function evenly(line: readonly number[], val: number, test: number): RowParts {
  const parts = [
    { share: 1 - val - test, rows: [] as number[] },
    { share: val, rows: [] as number[] },
    { share: test, rows: [] as number[] },
  ] as const;
  for (const [i, row] of line.entries()) {
    const lacking = parts.map(({ share, rows }) => share * (i + 1) - rows.length);
    parts[lacking.indexOf(Math.max(...lacking))]!.rows.push(row);
  }
  return { train: parts[0].rows, val: parts[1].rows, test: parts[2].rows };
}
