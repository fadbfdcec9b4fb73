// A constant ratio from one epoch to the next, as torch's ExponentialLR.
import { checkOptions, is } from "../../core/options.ts";
import type { Schedule } from "../../core/schedule.ts";
import { type Interval, isInterval, position } from "./time.ts";

/** Options of `exponential`. */
export interface ExponentialOptions {
  /** What each epoch (or step) multiplies the rate by. */
  readonly gamma: number;
  /** Default "epoch". */
  readonly interval?: Interval;
}

/**
 * The rate times `gamma` after every epoch.
 * @example exponential({ gamma: 0.95 })
 */
export function exponential(options: ExponentialOptions): Schedule {
  checkOptions("exponential", options, { gamma: is.positive, interval: isInterval }, ["gamma"]);
  const { gamma, interval = "epoch" } = options;
  return { name: "exponential", interval, factor: (at) => gamma ** position(at, interval) };
}
