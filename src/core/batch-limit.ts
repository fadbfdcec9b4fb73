// `limitBatches`: how many batches of an epoch, or of an evaluation, are used.
import { OptionError } from "./errors.ts";

/** A whole number of batches, or a fraction below 1 of those that a loader has. */
export type BatchLimit = number | { readonly train?: number; readonly eval?: number };

/** Batches that the limit allows; Infinity without one. `loader` is whose `length` it is, for the error. */
export function batchesAllowed(
  limit: BatchLimit | undefined,
  of: "train" | "eval",
  length: number | undefined,
  loader: string,
): number {
  const given = (typeof limit === "object" ? limit[of] : limit) ?? Infinity;
  if (given >= 1) return given;
  if (length === undefined) {
    throw new OptionError(
      `Trainer: \`limitBatches\` is a fraction (${given}), but the length of ${loader} is not known (a stream, or a mix that chance decides). Give a whole number of batches.`,
      { option: "limitBatches" },
    );
  }
  // Rounded down, but 0.29 of 100 is 29, and something is always left.
  return Math.max(1, Math.floor(given * length * (1 + 4 * Number.EPSILON)));
}
