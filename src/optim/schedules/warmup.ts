// A linear rise in front of any schedule.
import { checkOptions, is } from "../../core/options.ts";
import type { Schedule } from "../../core/schedule.ts";
import { isSchedule } from "../common.ts";
import { constant } from "./constant.ts";
import { compose, within } from "./parts.ts";
import { type Amount, type Interval, isAmount, isInterval, position, ramp, readAmount, totalOf } from "./time.ts";

/** Options of `warmup`. */
export interface WarmupOptions {
  /** How long: `100`, `"100 steps"` or `"5%"` of the run. */
  readonly steps: Amount;
  /** The factor at the first step. Default 1/(steps + 1), so that no step is wasted at zero. */
  readonly from?: number;
  /** What follows; its steps count from the end of the warmup. Default: constant. */
  readonly schedule?: Schedule;
  readonly interval?: Interval;
}

/**
 * Rises linearly to 1, then hands over to `schedule`.
 * @example warmup({ steps: 500, schedule: linear() })
 */
export function warmup(options: WarmupOptions): Schedule {
  checkOptions(
    "warmup",
    options,
    { steps: isAmount, from: is.nonNegative, schedule: isSchedule, interval: isInterval },
    ["steps"],
  );
  const { interval = "step", schedule = constant() } = options;
  const stepsOf = readAmount("warmup: steps", options.steps, interval);
  return {
    ...compose("warmup", interval, [schedule]),
    factor(at) {
      const steps = stepsOf(() => totalOf("warmup", undefined, at, interval));
      const t = position(at, interval);
      return t < steps ? ramp(t, steps, options.from) : schedule.factor(within(at, interval, steps));
    },
  };
}
