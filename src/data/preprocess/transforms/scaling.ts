// Numbers on another scale: standardise, minMax, log and passThrough. Each of them can be inverted.
import { component } from "../../../core/component.ts";
import { OptionError } from "../../../core/errors.ts";
import { is } from "../../../core/options.ts";
import { mapNumbers, momentsOf, numbersOf, rangeOf, scaleOf } from "../numbers.ts";
import { CellError, NUMERIC, makeTransform, type Transform } from "../transform.ts";

/**
 * Subtracts the mean and divides by the standard deviation. A column that is constant in the training data becomes 0,
 * and is not divided.
 */
export const standardise = /* @__PURE__ */ component({ kind: "transform", name: "standardise" }, (): Transform =>
  makeTransform<{ mean: number; scale: number }>(
    "standardise",
    {},
    {
      takes: NUMERIC,
      state: { mean: is.finite, scale: is.positive },
      fit(column) {
        const values = numbersOf(column);
        const moments = momentsOf(values);
        return { mean: moments.mean, scale: scaleOf(moments, values.length) };
      },
      open: ({ mean, scale }) => ({
        features: [],
        gives: "number",
        map: (column) => mapNumbers(column, (value) => (value - mean) / scale),
        invert: (value) => value * scale + mean,
      }),
    },
  ),
);

/** Options of `minMax`. */
export interface MinMaxOptions {
  /** What the smallest value of the training data becomes (default 0). */
  readonly min?: number;
  /** What the largest becomes (default 1). */
  readonly max?: number;
  /** Values beyond those of the training data become `min` or `max` (default false: they lie outside of the range). */
  readonly clip?: boolean;
}

/** Scales the range of the training data to 0 … 1, or to another. A column that is constant in it becomes `min`. */
export const minMax = /* @__PURE__ */ component(
  {
    kind: "transform",
    name: "minMax",
    takes: () => ({ options: { min: is.finite, max: is.finite, clip: is.boolean } }),
  },
  (options: MinMaxOptions = {}): Transform => {
    const { min = 0, max = 1, clip = false } = options;
    if (min >= max) throw new OptionError(`minMax: \`min\` (${min}) must be less than \`max\` (${max}).`);
    return makeTransform<{ least: number; most: number }>("minMax", options, {
      takes: NUMERIC,
      state: { least: is.finite, most: is.finite },
      fit: (column) => rangeOf(numbersOf(column)),
      open({ least, most }) {
        const scale = (max - min) / (most - least || 1);
        const scaled = (value: number): number => min + (value - least) * scale;
        return {
          features: [],
          gives: "number",
          map: (column) => mapNumbers(column, clip ? (value) => Math.min(max, Math.max(min, scaled(value))) : scaled),
          invert: (value) => (value - min) / scale + least,
        };
      },
    });
  },
);

/**
 * log(1 + x), for amounts with a long tail: it is defined at 0, and near it changes little. Values must be greater than
 * −1. Standardise the result: `[log, standardise]`.
 */
export const log = /* @__PURE__ */ component({ kind: "transform", name: "log" }, (): Transform =>
  makeTransform<object>(
    "log",
    {},
    {
      takes: ["number", "boolean"],
      state: {},
      fit: () => ({}),
      open: () => ({
        features: [],
        gives: "number",
        map(column) {
          const values = numbersOf(column);
          const bad = values.findIndex((value) => value <= -1);
          if (bad >= 0)
            throw new CellError(bad, `is ${values[bad]}, and \`log\`, which is log(1 + x), needs more than −1.`);
          return mapNumbers(column, Math.log1p);
        },
        invert: Math.expm1,
      }),
    },
  ),
);

/** The number as it is; 0 and 1 for booleans, milliseconds since 1970 for dates. */
export const passThrough = /* @__PURE__ */ component({ kind: "transform", name: "passThrough" }, (): Transform =>
  makeTransform<object>(
    "passThrough",
    {},
    {
      takes: NUMERIC,
      state: {},
      fit: () => ({}),
      open: () => ({
        features: [],
        gives: "number",
        map: (column) => ({ type: "number", values: numbersOf(column) }),
        invert: (value) => value,
      }),
    },
  ),
);

/** Leaves the column out. */
export const drop = /* @__PURE__ */ component({ kind: "transform", name: "drop" }, (): Transform =>
  makeTransform<object>(
    "drop",
    {},
    {
      takes: ["number", "boolean", "date", "string"],
      acceptsMissing: true,
      state: {},
      fit: () => ({}),
      open: () => ({ features: [] }),
    },
  ),
);
