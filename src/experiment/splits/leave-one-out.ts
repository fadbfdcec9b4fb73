// leaveOneOut: of each group, such as a user, the last row is for the test and the one before it for validation.
import { component } from "../../core/component.ts";
import { DataError } from "../../core/errors.ts";
import { is } from "../../core/options.ts";
import { datasetsOf, ordered, rowsOf, timesOf, valuesOf, type ArraySplit } from "./parts.ts";

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
 * Groups with too few rows to train on what is left stay in train as a whole.
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

function makeLeaveOneOut(options: LeaveOneOutOptions): ArraySplit {
  const { by, time, val = true } = options;
  const least = val ? 3 : 2;
  return (data, seed) => {
    const rows = rowsOf("leaveOneOut", data);
    const groupOf = valuesOf("leaveOneOut", "by", rows, by);
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

    /** Earlier rows first; of the same time as they come, at random where there is no time. */
    function inTime(): number[] {
      const order = ordered(rows.count, time === undefined, seed);
      if (time === undefined) return order;
      const times = timesOf("leaveOneOut", "time", rows, time);
      return order.sort((a, b) => times[a]! - times[b]!);
    }
  };
}
