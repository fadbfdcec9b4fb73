// A straight line over the run, as torch's LinearLR.
import { checkOptions, is } from "../../core/options.ts";
import type { Schedule } from "../../core/schedule.ts";
import { type Interval, isInterval, isTotal, position, totalOf } from "./time.ts";

/** Options of `linear`. */
export interface LinearOptions {
  /** The factor at the first step. Default 1. */
  readonly start?: number;
  /** The factor once `total` steps are done. Default 0. */
  readonly end?: number;
  /** Steps (or epochs) from `start` to `end`; the whole run when absent. */
  readonly total?: number;
  readonly interval?: Interval;
}

/**
 * From `start` to `end` in a straight line, then `end`.
 * @example warmup({ steps: "5%", schedule: linear() })
 */
export function linear(options: LinearOptions = {}): Schedule {
  checkOptions("linear", options, { start: is.nonNegative, end: is.nonNegative, total: isTotal, interval: isInterval });
  const { start = 1, end = 0, interval = "step" } = options;
  return {
    name: "linear",
    interval,
    factor(at) {
      const total = totalOf("linear", options.total, at, interval);
      return start + ((end - start) * Math.min(position(at, interval), total)) / total;
    },
  };
}
