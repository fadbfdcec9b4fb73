// Cosine annealing, as torch's CosineAnnealingLR, with warmup and restarts.
import { checkOptions, is } from "../../core/options.ts";
import type { Schedule } from "../../core/schedule.ts";
import {
  type Amount,
  cosineBetween,
  type Interval,
  isAmount,
  isInterval,
  isTotal,
  position,
  ramp,
  readAmount,
  totalOf,
} from "./time.ts";

/** Options of `cosine`. */
export interface CosineOptions {
  /** A linear rise before the cosine: `100`, `"100 steps"` or `"5%"` of the run. Default 0. */
  readonly warmup?: Amount;
  /** The factor at the end. Default 0. */
  readonly min?: number;
  /** Steps (or epochs) in all, warmup included; the whole run when absent. */
  readonly total?: number;
  /** How many times the cosine runs down; each starts again from 1. Default 1. */
  readonly cycles?: number;
  readonly interval?: Interval;
}

/**
 * Linear warmup, then half a cosine from 1 down to `min`, then `min`.
 * @example cosine({ warmup: "5%", min: 0.1 })
 */
export function cosine(options: CosineOptions = {}): Schedule {
  checkOptions("cosine", options, {
    warmup: isAmount,
    min: is.nonNegative,
    total: isTotal,
    cycles: is.wholeFrom(1),
    interval: isInterval,
  });
  const { warmup = 0, min = 0, cycles = 1, interval = "step" } = options;
  const warmupOf = readAmount("cosine: warmup", warmup, interval);
  return {
    name: "cosine",
    interval,
    factor(at) {
      const total = totalOf("cosine", options.total, at, interval);
      const rise = warmupOf(() => total);
      const t = position(at, interval);
      if (t < rise) return ramp(t, rise);
      if (t >= total) return min;
      const progress = ((t - rise) / (total - rise)) * cycles;
      return cosineBetween(1, min, progress % 1);
    },
  };
}
