// byTime: trains on the past and is judged by the future.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { is } from "../../core/options.ts";
import { checkShares, datasetsOf, isShare, needRows, ordered, rowsOf, timesOf, type ArraySplit } from "./parts.ts";

/** Options of `byTime`. */
export interface ByTimeOptions {
  /** The field with the time of each row, in any unit. */
  readonly field: string;
  /** Share of the rows, before those of the test, that is watched while training. Default 0.1; 0 for none. */
  readonly val?: number;
  /** Share of the rows, the latest, that is looked at once at the end. Default 0.1; 0 for none. */
  readonly test?: number;
  /** Instead of `val`: the time at which its rows begin. */
  readonly valFrom?: number;
  /** Instead of `test`: the time at which its rows begin. */
  readonly testFrom?: number;
}

/**
 * Rows of the same time are never parted, so a share is met as nearly as they allow.
 * @example
 * byTime({ field: "timestamp", val: 0.1, test: 0.1 })
 * byTime({ field: "timestamp", valFrom: Date.parse("2024-11-01") / 1000, testFrom: Date.parse("2024-12-01") / 1000 })
 */
export const byTime = /* @__PURE__ */ component(
  {
    kind: "split",
    name: "byTime",
    takes: () => ({
      options: { field: is.name, val: isShare, test: isShare, valFrom: is.finite, testFrom: is.finite },
      required: ["field"],
    }),
  },
  makeByTime,
);

function makeByTime(options: ByTimeOptions): ArraySplit {
  const { field, valFrom, testFrom } = options;
  for (const part of ["val", "test"] as const) {
    if (options[part] !== undefined && options[`${part}From`] !== undefined)
      throw new OptionError(`byTime: \`${part}\` is a share and \`${part}From\` a time: give one of them.`);
  }
  const { val = valFrom === undefined ? 0.1 : 0, test = testFrom === undefined ? 0.1 : 0 } = options;
  checkShares("byTime", val, test);
  if (valFrom !== undefined && testFrom !== undefined && valFrom >= testFrom)
    throw new OptionError(`byTime: \`valFrom\` (${valFrom}) must be before \`testFrom\` (${testFrom}).`);
  return (data) => {
    const rows = rowsOf("byTime", data);
    const times = timesOf("byTime", "field", rows, field);
    const order = ordered(rows.count, false, 0).sort((a, b) => times[a]! - times[b]!);
    const before = (cut: number): number[] => order.filter((row) => times[row]! < cut);
    const since = (cut: number): number[] => order.filter((row) => times[row]! >= cut);
    // The time of the first of the last so many rows: all rows of that time go with it.
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
      needRows("byTime", "test", testFrom === undefined ? `${test}` : `from ${testFrom} on`, parts.test.length, count);
    if (valFrom !== undefined || val > 0)
      needRows("byTime", "val", valFrom === undefined ? `${val}` : `from ${valFrom} on`, parts.val.length, count);
    needRows("byTime", "train", "what comes before", parts.train.length, count);
    return { main: datasetsOf(data, rows, parts) };
  };
}
