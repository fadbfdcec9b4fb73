// impute: fills gaps.
import { component } from "../../../core/component.ts";
import { DataError, OptionError } from "../../../core/errors.ts";
import { is, show } from "../../../core/options.ts";
import { type Column, type ColumnType, NO_BOOLEAN, NO_STRING } from "../../table/column.ts";
import { countNames } from "../categories.ts";
import { medianOf, momentsOf, mostFrequentOf, presentNumbers } from "../numbers.ts";
import { ANY_TYPE, makeTransform, type Step, type Transform } from "../transform.ts";

/** Options of `impute`. */
export interface ImputeOptions {
  /**
   * Gaps get the mean (default for numbers and dates), the median, the most frequent value (default for text and
   * booleans; the smallest of equally frequent ones), or `value`.
   */
  readonly strategy?: "mean" | "median" | "mostFrequent" | "constant";
  /** With `strategy: "constant"`: a number, a text, true or false; for a date, its text such as 2024-05-31. */
  readonly value?: number | string | boolean;
  /** Add a feature that is 1 where there was a gap (default false). */
  readonly indicator?: boolean;
}

type Fill = number | string;

/** Fills gaps with a value of the training data, or with a constant, and can tell the model where they were. */
export const impute = /* @__PURE__ */ component(
  {
    kind: "transform",
    name: "impute",
    takes: () => ({
      options: {
        strategy: is.oneOf("mean", "median", "mostFrequent", "constant"),
        value: is.or(is.finite, is.string, is.boolean),
        indicator: is.boolean,
      },
    }),
  },
  (options: ImputeOptions = {}): Transform => {
    const { strategy, value, indicator = false } = options;
    if ((strategy === "constant") !== (value !== undefined))
      throw new OptionError('impute: `value` and `strategy: "constant"` go together: give both, or neither.');
    return makeTransform<{ fill: Fill }>("impute", options, {
      takes: ANY_TYPE,
      acceptsMissing: true,
      state: { fill: is.or(is.finite, is.string) },
      fit: (column) => ({ fill: fillOf(column, strategy, value) }),
      open: ({ fill }, type) => ({ ...filler(type, fill), ...(indicator && indicate) }),
    });
  },
);

function fillOf(column: Column, strategy: ImputeOptions["strategy"], value: ImputeOptions["value"]): Fill {
  const { type } = column;
  if (strategy === "constant") return constantOf(type, value!);
  const isText = type === "string" || type === "boolean";
  const chosen = strategy ?? (isText ? "mostFrequent" : "mean");
  if (chosen !== "mostFrequent" && isText)
    throw new DataError(
      `has no ${chosen}: its type is ${type}. Use impute({ strategy: "mostFrequent" }) or "constant".`,
    );
  if (type === "string") {
    const { counted } = countNames(column);
    if (counted.length === 0) throw allMissing();
    return counted.reduce((most, each) => (each.count > most.count ? each : most)).name;
  }
  const values = presentNumbers(column);
  if (values.length === 0) throw allMissing();
  if (chosen === "mostFrequent") return mostFrequentOf(values);
  return chosen === "mean" ? momentsOf(values).mean : medianOf(values);
}

const allMissing = (): DataError =>
  new DataError(
    'has no value in any row of the training data. Leave the column out (`drop`), or fill it: impute({ strategy: "constant", value: 0 }).',
  );

function constantOf(type: ColumnType, value: number | string | boolean): Fill {
  if (type === "string" && typeof value === "string") return value;
  if (type === "boolean" && typeof value === "boolean") return Number(value);
  if (type === "number" && typeof value === "number") return value;
  if (type === "date") {
    const time = typeof value === "boolean" ? Number.NaN : new Date(value).getTime();
    if (!Number.isNaN(time)) return time;
  }
  throw new DataError(`cannot be filled with ${show(value)}: its type is ${type}.`);
}

function filler(type: ColumnType, fill: Fill): Step {
  if ((type === "string") !== (typeof fill === "string") || (type === "boolean" && fill !== 0 && fill !== 1))
    throw new DataError(`\`fill\` in the state of \`impute\` is not of the column's type, ${type}.`);
  let [names, filled]: readonly string[][] = [[], []];
  const map = (column: Column): Column => {
    if (column.type === "boolean") {
      const values = column.values.map((value) => (value === NO_BOOLEAN ? (fill as number) : value));
      return { type: "boolean", values };
    }
    if (column.type === "string") {
      // The same list for the same names, so that a later transform looks them up once.
      if (column.names !== names) [names, filled] = [column.names as string[], [...column.names, fill as string]];
      return {
        type: "string",
        codes: column.codes.map((code) => (code === NO_STRING ? column.names.length : code)),
        names: filled!,
      };
    }
    const values = new Float64Array(column.values.length);
    for (let i = 0; i < values.length; i++) {
      const value = column.values[i]!;
      values[i] = value === value ? value : (fill as number);
    }
    return { type: column.type, values };
  };
  return { features: [], gives: type, map };
}

const indicate: Pick<Step, "features" | "write"> = {
  features: ["=(missing)"],
  write(column, out, at, stride) {
    const values = column.type === "string" ? column.codes : column.values;
    const none = column.type === "string" ? NO_STRING : NO_BOOLEAN;
    const isTime = column.type === "number" || column.type === "date";
    for (let i = 0, to = at; i < values.length; i++, to += stride)
      if (isTime ? values[i] !== values[i] : values[i] === none) out[to] = 1;
  },
};
