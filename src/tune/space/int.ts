// int: a whole number in a range, both ends included.
import { OptionError } from "../../core/errors.ts";
import { checkOptions, is } from "../../core/options.ts";
import { PARAMETER, type NumberParameter } from "./parameter.ts";

export interface IntOptions {
  /** From one value to the next, counted from `low`. Default 1. */
  readonly step?: number;
  /** Searched on a logarithmic scale: as many tries between 1 and 10 as between 10 and 100. Default false. */
  readonly log?: boolean;
}

/** @example { layers: int(1, 4), width: int(32, 512, { step: 32 }), batch: int(8, 512, { log: true }) } */
export function int(low: number, high: number, options: IntOptions = {}): NumberParameter {
  const bounds = { low: is.whole, high: is.whole, step: is.wholeFrom(1), log: is.boolean };
  checkOptions("int", { ...options, low, high }, bounds, ["low", "high"]);
  const { step = 1, log = false } = options;
  if (low > high) {
    throw new OptionError(`int: \`low\` (${low}) is above \`high\` (${high}). Swap them.`, { option: "low" });
  }
  if (!Number.isSafeInteger(high - low)) {
    throw new OptionError(`int: from ${low} to ${high} is more than whole numbers can span.`, { option: "high" });
  }
  if (log && low < 1) {
    throw new OptionError(`int: Expected \`low\` to be a whole number ≥ 1 with \`log\`, got \`${low}\`.`, {
      option: "low",
    });
  }
  if (log && step !== 1) {
    throw new OptionError("int: `step` and `log` do not go together. Leave one of them out.", { option: "step" });
  }
  const size = Math.floor((high - low) / step) + 1;
  const last = low + (size - 1) * step;
  const nearest = (value: number): number =>
    Math.min(last, Math.max(low, low + Math.round((value - low) / step) * step));
  const scale = log ? logScale(low, last) : linearScale(low, last, step);
  const toUnit = (value: number): number => (scale.unit(value - step / 2) + scale.unit(value + step / 2)) / 2;
  return {
    [PARAMETER]: true,
    kind: "int",
    low,
    high: last,
    log,
    step,
    size,
    expected:
      step === 1
        ? `a whole number from ${low} to ${last}`
        : `a whole number from ${low} to ${last} in steps of ${step}`,
    has: (value) => value >= low && value <= last && (value - low) % step === 0,
    clamp: nearest,
    toUnit,
    fromUnit: (unit) => nearest(scale.value(unit)),
    cell: (value) => [scale.unit(value - step / 2), scale.unit(value + step / 2)],
  };
}

interface Scale {
  unit(value: number): number;
  value(unit: number): number;
}

/** Half a step beyond both ends, or the ends would be half as likely as the rest. */
function linearScale(low: number, high: number, step: number): Scale {
  const [from, width] = [low - step / 2, high - low + step];
  return { unit: (value) => (value - from) / width, value: (unit) => from + unit * width };
}

function logScale(low: number, high: number): Scale {
  const [from, width] = [Math.log(low - 0.5), Math.log(high + 0.5) - Math.log(low - 0.5)];
  return { unit: (value) => (Math.log(value) - from) / width, value: (unit) => Math.exp(from + unit * width) };
}
