// kFold: cross-validation. What is not for the test is cut into folds, each of which validates a model of the others.
import { component } from "../../core/component.ts";
import { DataError } from "../../core/errors.ts";
import { is } from "../../core/options.ts";
import type { Rows } from "../../data/indexed.ts";
import { checkStratify, cutRows } from "./cut.ts";
import { byClass, checkShares, datasetsOf, isShare, ordered, rowsOf, type RowParts, type ArraySplit } from "./parts.ts";

/** Options of `kFold`. */
export interface KFoldOptions {
  /** How many. Default 5. */
  readonly folds?: number;
  /** Share of the rows that no fold sees, for the main training's final evaluation. Default 0.1; 0 for none. */
  readonly test?: number;
  /** Share that the main training watches, where its hooks need one; the folds have it too. Default 0. */
  readonly val?: number;
  /** Rows are drawn at random (the default), or folds and test are stretches of the data as it comes. */
  readonly shuffle?: boolean;
  /** The field with the class of each row: every fold has each class in the same share. */
  readonly stratify?: string;
}

/**
 * Each fold is trained and evaluated; then a model is trained on all that is not for the test.
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
  (options: KFoldOptions = {}): ArraySplit => {
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
  // Dealt out like cards where rows are drawn at random, so that classes are shared fairly; else in stretches.
  const foldOf = (place: number): number => (shuffle ? place % count : Math.floor((place * count) / line.length));
  return Array.from({ length: count }, (_, fold) => ({
    train: line.filter((_row, place) => foldOf(place) !== fold),
    val: line.filter((_row, place) => foldOf(place) === fold),
    test: [],
  }));
}
