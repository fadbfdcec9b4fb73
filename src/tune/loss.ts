// One orientation for all that compares trials: a loss, of which less is better, whatever the objective's mode.
import type { Objective, Result } from "./types.ts";

/**
 * The value of an objective as a loss. Undefined where it was not reported; what is no finite number is worse than
 * anything that is.
 */
export function lossOf(result: Result | undefined, { metric, mode }: Objective): number | undefined {
  const value = result?.[metric];
  if (value === undefined) return undefined;
  if (!Number.isFinite(value)) return Infinity;
  return mode === "min" ? value : -value;
}
