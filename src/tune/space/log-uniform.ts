// logUniform: any number in a range, each order of magnitude as likely as another. For learning rates and the like.
import { OptionError } from "../../core/errors.ts";
import type { NumberParameter } from "./parameter.ts";
import { checkRange, clampTo, continuous } from "./range.ts";

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
  const clamp = clampTo(low, high);
  return continuous("logUniform", low, high, {
    toUnit: (value) => (Math.log(value) - from) / width,
    // The ends as they were given: through the logarithm they come back a little changed.
    fromUnit: (unit) => (unit <= 0 ? low : unit >= 1 ? high : clamp(Math.exp(from + unit * width))),
  });
}
