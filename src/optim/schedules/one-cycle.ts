// The one-cycle policy, as torch's OneCycleLR with two cosine phases; the optimizer's lr is the peak.
import { checkOptions, is } from "../../core/options.ts";
import type { Schedule } from "../../core/schedule.ts";
import { cosineBetween, type Interval, isInterval, isTotal, position, totalOf } from "./time.ts";

/** Options of `oneCycle`. */
export interface OneCycleOptions {
  /** The part of the run spent going up. Default 0.3. */
  readonly pctStart?: number;
  /** The run starts at 1/divFactor of the rate. Default 25. */
  readonly divFactor?: number;
  /** It ends at 1/finalDivFactor of where it started. Default 1e4. */
  readonly finalDivFactor?: number;
  readonly total?: number;
  readonly interval?: Interval;
}

/**
 * Up to the optimizer's rate and down to almost nothing in one run.
 * @example oneCycle({ pctStart: 0.3 })
 */
export function oneCycle(options: OneCycleOptions = {}): Schedule {
  checkOptions("oneCycle", options, {
    pctStart: is.between(0, 1),
    divFactor: is.positive,
    finalDivFactor: is.positive,
    total: isTotal,
    interval: isInterval,
  });
  const { pctStart = 0.3, divFactor = 25, finalDivFactor = 1e4, interval = "step" } = options;
  const start = 1 / divFactor;
  const end = start / finalDivFactor;
  return {
    name: "oneCycle",
    interval,
    factor(at) {
      const total = totalOf("oneCycle", options.total, at, interval);
      const t = Math.min(position(at, interval), total - 1);
      const peak = pctStart * total - 1;
      if (t <= peak) return peak === 0 ? 1 : cosineBetween(start, 1, t / peak);
      return cosineBetween(1, end, (t - peak) / (total - 1 - peak));
    },
  };
}
