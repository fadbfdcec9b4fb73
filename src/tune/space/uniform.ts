// uniform: any number in a range, each part of it as likely as another.
import { PARAMETER, type NumberParameter } from "./parameter.ts";
import { checkRange } from "./range.ts";

/** @example { dropout: uniform(0, 0.5) } */
export function uniform(low: number, high: number): NumberParameter {
  checkRange("uniform", low, high);
  const clamp = (value: number): number => Math.min(high, Math.max(low, value));
  const toUnit = (value: number): number => (value - low) / (high - low);
  return {
    [PARAMETER]: true,
    kind: "uniform",
    low,
    high,
    step: undefined,
    size: Infinity,
    expected: `a number from ${low} to ${high}`,
    has: (value) => value >= low && value <= high,
    clamp,
    toUnit,
    // Rounding may step over an end.
    fromUnit: (unit) => clamp(low + unit * (high - low)),
    cell: (value) => [toUnit(value), toUnit(value)],
  };
}
