// quantile: numbers by their rank among those of the training data.
import { component } from "../../../core/component.ts";
import { DataError } from "../../../core/errors.ts";
import { is } from "../../../core/options.ts";
import { mapNumbers, numbersOf } from "../numbers.ts";
import { inverseNormal, normalShare } from "../normal.ts";
import { NUMERIC, makeTransform, type Transform } from "../transform.ts";

/** Options of `quantile`. */
export interface QuantileOptions {
  /** How many quantiles are kept, at most one for each row (default 1000). Between them it is linear. */
  readonly quantiles?: number;
  /** How the result is distributed: evenly from 0 to 1 (default), or as a standard normal distribution within ±5.2. */
  readonly output?: "uniform" | "normal";
}

const MOST = 100_000;
/** As in scikit-learn: the ends of a normal distribution are infinite, so values this near to them are clipped. */
const NEAR_END = 1e-7;

/**
 * The share of the training data that is smaller: outliers and long tails lose their weight. Values beyond those of the
 * training data become its ends.
 */
export const quantile = /* @__PURE__ */ component(
  {
    kind: "transform",
    name: "quantile",
    takes: () => ({
      options: {
        quantiles: { ...is.between(2, MOST), expected: `a whole number from 2 to ${MOST}`, test: isCount },
        output: is.oneOf("uniform", "normal"),
      },
    }),
  },
  (options: QuantileOptions = {}): Transform => {
    const { quantiles: wanted = 1000, output = "uniform" } = options;
    return makeTransform<{ quantiles: number[] }>("quantile", options, {
      takes: NUMERIC,
      state: { quantiles: is.arrayOf(is.finite) },
      fit: (column) => ({ quantiles: quantilesOf(numbersOf(column), wanted) }),
      open({ quantiles }) {
        const known = checked(quantiles);
        const share = output === "normal" ? normalOf(known) : (value: number) => shareOf(known, value);
        return {
          features: [],
          gives: "number",
          map: (column) => mapNumbers(column, share),
          invert: (value) => valueAt(known, output === "normal" ? normalShare(value) : value),
        };
      },
    });
  },
);

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 2 && (value as number) <= MOST;
}

function checked(quantiles: readonly number[]): Float64Array {
  const known = Float64Array.from(quantiles);
  const isSorted = known.every((value, i) => i === 0 || value >= known[i - 1]!);
  if (known.length === 0 || known.length > MOST || !isSorted)
    throw new DataError("the quantiles in the state of `quantile` are not sorted.");
  return known;
}

/** Evenly spaced, the first the smallest value and the last the largest, interpolated between neighbours. */
function quantilesOf(values: Float64Array, wanted: number): number[] {
  const sorted = values.toSorted();
  const count = Math.min(wanted, sorted.length);
  return Array.from({ length: count }, (_, i) => valueAt(sorted, count === 1 ? 0 : i / (count - 1)) + 0);
}

/** The value at a share of sorted values, between two of them by interpolation. */
function valueAt(sorted: Float64Array, share: number): number {
  const at = Math.min(1, Math.max(0, share)) * (sorted.length - 1);
  const below = Math.floor(at);
  const lower = sorted[below]!;
  const upper = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return lower + (upper - lower) * (at - below);
}

/** The share of a value; in a run of equal quantiles the middle of the run. */
function shareOf(sorted: Float64Array, value: number): number {
  const last = sorted.length - 1;
  if (value <= sorted[0]!) return 0;
  if (value >= sorted[last]!) return 1;
  // The last quantile ≤ value, and the first ≥ value.
  const below = bound(sorted, value, true) - 1;
  const above = bound(sorted, value, false);
  if (above <= below) return (above + below) / 2 / last;
  return (below + (value - sorted[below]!) / (sorted[above]! - sorted[below]!)) / last;
}

/** How many quantiles are less than `value`, or, with `orEqual`, not greater. */
function bound(sorted: Float64Array, value: number, orEqual: boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value || (orEqual && sorted[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function normalOf(sorted: Float64Array): (value: number) => number {
  const [least, most] = [sorted[0]!, sorted.at(-1)!];
  const end = -inverseNormal(NEAR_END - Number.EPSILON);
  return (value) => {
    if (value - NEAR_END < least) return -end;
    if (value + NEAR_END > most) return end;
    return Math.min(end, Math.max(-end, inverseNormal(shareOf(sorted, value))));
  };
}
