// holdout: some rows are kept for validation, some for the test, at random or from the end.
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { checkStratify, cutRows } from "./cut.ts";
import { checkShares, datasetsOf, isShare, rowsOf, type ArraySplit } from "./parts.ts";

/** Options of `holdout`. */
export interface HoldoutOptions {
  /** Share of the rows that is watched while training. Default 0.1; 0 for none. */
  readonly val?: number;
  /** Share that is looked at once, at the end. Default 0.1; 0 for none. */
  readonly test?: number;
  /** Rows are drawn at random (the default), or val and test are the last ones. */
  readonly shuffle?: boolean;
  /** The field with the class of each row: every part has each class in the same share. */
  readonly stratify?: string;
}

/**
 * @example
 * new Experiment({ data, split: holdout({ val: 0.1, test: 0.2, stratify: "y" }), … })
 */
export const holdout = /* @__PURE__ */ component(
  {
    kind: "split",
    name: "holdout",
    takes: () => ({ options: { val: isShare, test: isShare, shuffle: is.boolean, stratify: is.name } }),
  },
  (options: HoldoutOptions = {}): ArraySplit => {
    const { val = 0.1, test = 0.1, shuffle = true, stratify } = options;
    checkShares("holdout", val, test);
    checkStratify("holdout", shuffle, stratify);
    return (data, seed) => {
      const rows = rowsOf("holdout", data);
      return { main: datasetsOf(data, rows, cutRows("holdout", rows, { val, test, shuffle, stratify }, seed)) };
    };
  },
);
