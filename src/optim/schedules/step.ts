// A drop every so often, as torch's StepLR.
import { checkOptions, is } from "../../core/options.ts";
import type { Schedule } from "../../core/schedule.ts";
import { type Interval, isInterval, position } from "./time.ts";

/** Options of `step`. */
export interface StepOptions {
  /** Epochs (or steps) between drops. */
  readonly every: number;
  /** What each drop multiplies the rate by. Default 0.1. */
  readonly gamma?: number;
  /** Default "epoch". */
  readonly interval?: Interval;
}

/**
 * The rate times `gamma` after every `every` epochs.
 * @example step({ every: 30, gamma: 0.1 })
 */
export function step(options: StepOptions): Schedule {
  checkOptions("step", options, { every: is.wholeFrom(1), gamma: is.positive, interval: isInterval }, ["every"]);
  const { every, gamma = 0.1, interval = "epoch" } = options;
  return { name: "step", interval, factor: (at) => gamma ** Math.floor(position(at, interval) / every) };
}
