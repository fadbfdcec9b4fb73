// Sizes that differ between traces, as a linear function of the rows.
import { makeDim, type Dim } from "./program.ts";

/** Undefined if no whole numbers a ≥ 0 and b make each size a·rows + b. */
export function mergeSizes(sizes: readonly number[], rows: readonly number[]): Dim | undefined {
  const [first, second] = sizes as [number, number];
  const perRow = (second - first) / (rows[1]! - rows[0]!);
  const fixed = first - perRow * rows[0]!;
  const isLinear =
    Number.isSafeInteger(perRow) && perRow >= 0 && sizes.every((n, i) => n === perRow * rows[i]! + fixed);
  return isLinear ? makeDim(perRow, fixed) : undefined;
}
