// The built-in splits: holdout, kFold, leaveOneOut and byTime.
import { component } from "../core/component.ts";
import { DataError, OptionError } from "../core/errors.ts";
import { type Check, is } from "../core/options.ts";
import type { Rows } from "../data/indexed.ts";
import { dateOf } from "../data/table/dates.ts";
import { Table } from "../data/table/table.ts";
import {
  type RowSplit,
  type RowParts,
  byClass,
  checkShares,
  checkStratify,
  cutRows,
  datasetsOf,
  isShare,
  needRows,
  ordered,
  presentOf,
  rowsOf,
} from "./split-rows.ts";

/** Options of `holdout`. */
export interface HoldoutOptions {
  /** Share of the rows for validation while training. Default 0.1; 0 for none. */
  readonly val?: number;
  /** Share for the final evaluation. Default 0.1; 0 for none. */
  readonly test?: number;
  /** Rows are drawn at random (the default), or val and test are the last ones. */
  readonly shuffle?: boolean;
  /** The field with the class of each row: every part has each class in the same share. */
  readonly stratify?: string;
}

/**
 * Keeps some rows for validation and some for the test, at random or from the end.
 * @example
 * new Experiment({ data, split: holdout({ val: 0.1, test: 0.2, stratify: "y" }), … })
 */
export const holdout = /* @__PURE__ */ component(
  {
    kind: "split",
    name: "holdout",
    takes: () => ({ options: { val: isShare, test: isShare, shuffle: is.boolean, stratify: is.name } }),
  },
  (options: HoldoutOptions = {}): RowSplit => {
    const { val = 0.1, test = 0.1, shuffle = true, stratify } = options;
    checkShares("holdout", val, test);
    checkStratify("holdout", shuffle, stratify);
    return (data, seed) => {
      const rows = rowsOf("holdout", data);
      return { main: datasetsOf(data, rows, cutRows("holdout", rows, { val, test, shuffle, stratify }, seed)) };
    };
  },
);

/** Options of `kFold`. */
export interface KFoldOptions {
  /** Number of folds. Default 5. */
  readonly folds?: number;
  /** Share of the rows that no fold sees, for the main training's final evaluation. Default 0.1; 0 for none. */
  readonly test?: number;
  /** Share for validation in the main training, where its hooks need one; the folds have it too. Default 0. */
  readonly val?: number;
  /** Rows are drawn at random (the default), or folds and test are stretches of the data as it comes. */
  readonly shuffle?: boolean;
  /** The field with the class of each row: every fold has each class in the same share. */
  readonly stratify?: string;
}

/**
 * Cross-validation. A model is trained for each fold and validated on it; then one is trained on all rows that are not for
 * the test.
 * @example
 * new Experiment({ data, split: kFold({ folds: 5 }), … })
 */
export const kFold = /* @__PURE__ */ component(
  {
    kind: "split",
    name: "kFold",
    takes: () => ({
      options: { folds: is.wholeFrom(2), test: isShare, val: isShare, shuffle: is.boolean, stratify: is.name },
    }),
  },
  (options: KFoldOptions = {}): RowSplit => {
    const { folds: count = 5, test = 0.1, val = 0, shuffle = true, stratify } = options;
    checkShares("kFold", val, test);
    checkStratify("kFold", shuffle, stratify);
    return (data, seed) => {
      const rows = rowsOf("kFold", data);
      const main = cutRows("kFold", rows, { val, test, shuffle, stratify }, seed);
      const folds = foldsOf(rows, main, { count, shuffle, stratify }, seed);
      return { main: datasetsOf(data, rows, main), folds: folds.map((parts) => datasetsOf(data, rows, parts)) };
    };
  },
);

interface FoldOptions {
  readonly count: number;
  readonly shuffle: boolean;
  readonly stratify: string | undefined;
}

function foldsOf(rows: Rows, { test }: RowParts, { count, shuffle, stratify }: FoldOptions, seed: number): RowParts[] {
  const tested = new Set(test);
  const all = ordered(rows.count, shuffle, seed);
  const line = (stratify === undefined ? all : byClass("kFold", rows, stratify, all)).filter((row) => !tested.has(row));
  if (line.length < count)
    throw new DataError(`kFold: ${line.length} rows are too few for ${count} folds: each needs at least one.`);
  // Random rows are dealt out one by one, so that each fold has its share of every class; rows in order are cut in stretches.
  const foldOf = (place: number): number => (shuffle ? place % count : Math.floor((place * count) / line.length));
  return Array.from({ length: count }, (_, fold) => ({
    train: line.filter((_row, place) => foldOf(place) !== fold),
    val: line.filter((_row, place) => foldOf(place) === fold),
    test: [],
  }));
}

/** Options of `leaveOneOut`. */
export interface LeaveOneOutOptions {
  /** The field with the group of each row, such as `user`. */
  readonly by: string;
  /** The field that says which row of a group is the last. Default: drawn at random. */
  readonly time?: string;
  /** Also leaves one out for validation. Default true. */
  readonly val?: boolean;
}

/**
 * Of each group, such as a user, the last row is for the test and the one before it for validation. Groups with too few rows
 * stay in train as a whole.
 * @example
 * new Experiment({ data: ratings, split: leaveOneOut({ by: "user", time: "timestamp" }), … })
 */
export const leaveOneOut = /* @__PURE__ */ component(
  {
    kind: "split",
    name: "leaveOneOut",
    takes: () => ({ options: { by: is.name, time: is.name, val: is.boolean }, required: ["by"] }),
  },
  makeLeaveOneOut,
);

function makeLeaveOneOut(options: LeaveOneOutOptions): RowSplit {
  const { by, time, val = true } = options;
  const least = val ? 3 : 2;
  return (data, seed) => {
    const rows = rowsOf("leaveOneOut", data);
    const groupOf = presentOf("leaveOneOut", "by", rows, by);
    const groups = new Map<number, number[]>();
    for (const row of inTime()) {
      const group = groups.get(groupOf[row]!);
      if (group) group.push(row);
      else groups.set(groupOf[row]!, [row]);
    }
    const parts = { train: [] as number[], val: [] as number[], test: [] as number[] };
    for (const group of groups.values()) {
      if (group.length >= least) {
        parts.test.push(group.pop()!);
        if (val) parts.val.push(group.pop()!);
      }
      for (const row of group) parts.train.push(row);
    }
    if (parts.test.length === 0) {
      throw new DataError(
        `leaveOneOut: none of the ${groups.size} groups by \`${by}\` has the ${least} rows that it takes to leave ${val ? "two" : "one"} out.`,
      );
    }
    return { main: datasetsOf(data, rows, parts) };

    /** Earlier rows first; random order without times. */
    function inTime(): number[] {
      const order = ordered(rows.count, time === undefined, seed);
      if (time === undefined) return order;
      const times = presentOf("leaveOneOut", "time", rows, time);
      return order.sort((a, b) => times[a]! - times[b]!);
    }
  };
}

const isDate: Check = {
  expected: "an ISO 8601 date",
  schema: { type: "string" },
  test: (value) => typeof value === "string" && !Number.isNaN(dateOf(value)),
};

const isTime = /* @__PURE__ */ is.or(is.finite, isDate);

/** Options of `byTime`. */
export interface ByTimeOptions {
  /** The field with the time of each row: a column of dates, or numbers in any unit. */
  readonly field: string;
  /** Share of the rows, before those of the test, for validation while training. Default 0.1; 0 for none. */
  readonly val?: number;
  /** Share of the rows, the latest, for the final evaluation. Default 0.1; 0 for none. */
  readonly test?: number;
  /** Instead of `val`: the time at which its rows begin; for a column of dates as text, such as `2024-11-01`. */
  readonly valFrom?: number | string;
  /** Instead of `test`: the time at which its rows begin. */
  readonly testFrom?: number | string;
}

/**
 * Trains on the past and evaluates on the future. Rows of the same time stay together, so shares are approximate.
 * @example
 * byTime({ field: "timestamp", val: 0.1, test: 0.1 })
 * byTime({ field: "ordered", valFrom: "2024-11-01", testFrom: "2024-12-01" })
 */
export const byTime = /* @__PURE__ */ component(
  {
    kind: "split",
    name: "byTime",
    takes: () => ({
      options: { field: is.name, val: isShare, test: isShare, valFrom: isTime, testFrom: isTime },
      required: ["field"],
    }),
  },
  makeByTime,
);

function makeByTime(options: ByTimeOptions): RowSplit {
  const { field } = options;
  const [valFrom, testFrom] = [options.valFrom, options.testFrom].map((time) =>
    typeof time === "string" ? dateOf(time) : time,
  );
  for (const part of ["val", "test"] as const) {
    if (options[part] !== undefined && options[`${part}From`] !== undefined)
      throw new OptionError(`byTime: \`${part}\` is a share and \`${part}From\` a time: give one of them.`);
  }
  const { val = valFrom === undefined ? 0.1 : 0, test = testFrom === undefined ? 0.1 : 0 } = options;
  checkShares("byTime", val, test);
  if (valFrom !== undefined && testFrom !== undefined && valFrom >= testFrom)
    throw new OptionError(
      `byTime: \`valFrom\` (${options.valFrom}) must be before \`testFrom\` (${options.testFrom}).`,
    );
  return (data) => {
    checkDates(data, options);
    const rows = rowsOf("byTime", data);
    const times = presentOf("byTime", "field", rows, field);
    const order = ordered(rows.count, false, 0).sort((a, b) => times[a]! - times[b]!);
    const before = (cut: number): number[] => order.filter((row) => times[row]! < cut);
    const since = (cut: number): number[] => order.filter((row) => times[row]! >= cut);
    // The time at which a share of the rows begins: all rows of that time belong to it.
    const cutFor = (share: number, among: readonly number[]): number => {
      const first = among[among.length - Math.round(rows.count * share)];
      return first === undefined ? Infinity : times[first]!;
    };
    const testCut = testFrom ?? cutFor(test, order);
    const past = before(testCut);
    const valCut = valFrom ?? cutFor(val, past);
    const parts = {
      train: past.filter((row) => times[row]! < valCut),
      val: past.filter((row) => times[row]! >= valCut),
      test: since(testCut),
    };
    const { count } = rows;
    if (testFrom !== undefined || test > 0)
      needRows(
        "byTime",
        "test",
        testFrom === undefined ? `${test}` : `from ${options.testFrom} on`,
        parts.test.length,
        count,
      );
    if (valFrom !== undefined || val > 0)
      needRows(
        "byTime",
        "val",
        valFrom === undefined ? `${val}` : `from ${options.valFrom} on`,
        parts.val.length,
        count,
      );
    needRows("byTime", "train", "what comes before", parts.train.length, count);
    return { main: datasetsOf(data, rows, parts) };
  };
}

/** A date as text stands for a time only where the unit is known. */
function checkDates(data: object, { field, valFrom, testFrom }: ByTimeOptions): void {
  const date = [valFrom, testFrom].find((time) => typeof time === "string");
  if (date === undefined || (data instanceof Table && data.columns[field]?.type === "date")) return;
  throw new OptionError(
    `byTime: ${JSON.stringify(date)} is a date, but \`${field}\` is not a column of dates. Give a number in its unit.`,
  );
}
