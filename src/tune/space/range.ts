// The check that every range shares.
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";

/** Both ends are finite, in order, and not the same. */
export function checkRange(owner: string, low: number, high: number): void {
  checkOptions(owner, { low, high }, { low: is.finite, high: is.finite }, ["low", "high"]);
  if (low > high) {
    throw new OptionError(`${owner}: \`low\` (${low}) is above \`high\` (${high}). Swap them.`, { option: "low" });
  }
  if (low === high) {
    throw new OptionError(`${owner}: from ${low} to ${high} there is nothing to search. Write ${low} as a constant.`, {
      option: "high",
    });
  }
  if (!Number.isFinite(high - low)) {
    throw new OptionError(`${owner}: from ${low} to ${high} is more than a number can span.`, { option: "high" });
  }
}
