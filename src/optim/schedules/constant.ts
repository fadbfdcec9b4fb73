// The rate stays as it is, or at a fixed part of it.
import { checkOptions, is } from "../../core/options.ts";
import type { Schedule } from "../../core/schedule.ts";

/** Options of `constant`. */
export interface ConstantOptions {
  /** Default 1. */
  readonly factor?: number;
}

/**
 * A constant factor on the base rate.
 * @example constant()
 */
export function constant(options: ConstantOptions = {}): Schedule {
  checkOptions("constant", options, { factor: is.nonNegative });
  const { factor = 1 } = options;
  return { name: "constant", interval: "epoch", factor: () => factor };
}
