// logUniform: any number in a range, each order of magnitude as likely as another. For learning rates and the like.
import { OptionError } from "../../core/errors.ts";
import { PARAMETER, type NumberParameter } from "./parameter.ts";
import { checkRange } from "./range.ts";

/** @example { lr: logUniform(1e-4, 1e-1) } */
export function logUniform(low: number, high: number): NumberParameter {
  checkRange("logUniform", low, high);
  if (low <= 0) {
    throw new OptionError(`logUniform: Expected \`low\` to be a number > 0, got \`${low}\`: there is no log of it.`, {
      option: "low",
    });
  }
  const [from, width] = [Math.log(low), Math.log(high) - Math.log(low)];
  if (width === 0) {
    throw new OptionError(`logUniform: from ${low} to ${high} is too narrow to search. Write it as a constant.`, {
      option: "high",
    });
  }
  const clamp = (value: number): number => Math.min(high, Math.max(low, value));
  const toUnit = (value: number): number => (Math.log(value) - from) / width;
  return {
    [PARAMETER]: true,
    kind: "logUniform",
    low,
    high,
    step: undefined,
    size: Infinity,
    expected: `a number from ${low} to ${high}`,
    has: (value) => value >= low && value <= high,
    clamp,
    toUnit,
    // The ends as they were given: through the logarithm they come back a little changed.
    fromUnit: (unit) => (unit <= 0 ? low : unit >= 1 ? high : clamp(Math.exp(from + unit * width))),
    cell: (value) => [toUnit(value), toUnit(value)],
  };
}
