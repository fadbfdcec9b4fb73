// What all ranges share, and what those of any number share.
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import { PARAMETER, type NumberParameter } from "./parameter.ts";

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

export const clampTo =
  (low: number, high: number) =>
  (value: number): number =>
    Math.min(high, Math.max(low, value));

/** Any number from `low` to `high`, on the scale that the two functions say. */
export function continuous(
  kind: "uniform" | "logUniform",
  low: number,
  high: number,
  { toUnit, fromUnit }: Pick<NumberParameter, "toUnit" | "fromUnit">,
): NumberParameter {
  return {
    [PARAMETER]: true,
    kind,
    low,
    high,
    log: kind === "logUniform",
    step: undefined,
    size: Infinity,
    expected: `a number from ${low} to ${high}`,
    has: (value) => value >= low && value <= high,
    clamp: clampTo(low, high),
    toUnit,
    fromUnit,
    cell: (value) => [toUnit(value), toUnit(value)],
  };
}
