// uniform: any number in a range, each part of it as likely as another.
import type { NumberParameter } from "./parameter.ts";
import { checkRange, clampTo, continuous } from "./range.ts";

/** @example { dropout: uniform(0, 0.5) } */
export function uniform(low: number, high: number): NumberParameter {
  checkRange("uniform", low, high);
  const clamp = clampTo(low, high);
  return continuous("uniform", low, high, {
    toUnit: (value) => (value - low) / (high - low),
    // Rounding may step over an end.
    fromUnit: (unit) => clamp(low + unit * (high - low)),
  });
}
