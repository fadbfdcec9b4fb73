// Which points of a curve are shown (M4): of each pixel column the first, the last, the least, the greatest and a missing
// value. A line through them looks like a line through all points: no spike is lost.
import type { Pyramid } from "./pyramid.ts";

export interface Curve {
  readonly count: number;
  readonly values: Float64Array;
  readonly pyramid: Pyramid;
  /** The position of a point on the axis. */
  readonly x: (index: number) => number;
  /** Whether positions never decrease: after a rollback, steps do. */
  readonly isSorted: boolean;
}

export interface Range {
  readonly px: number;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Only points from this index on. */
  readonly after?: number | undefined;
}

export interface Chosen {
  readonly indexes: Uint32Array;
  readonly isReduced: boolean;
}

/** At most `4 × px` points of the range and its two neighbours, in order. */
export function choosePoints(curve: Curve, range: Range): Chosen {
  const { px, after = 0 } = range;
  const [lo, hi] = inside(curve, range);
  const first = Math.max(after, lo - 1);
  const last = Math.max(first, Math.min(curve.count, hi + 1));
  if (last - first <= 4 * px)
    return { indexes: new Uint32Array(last - first).map((_, i) => first + i), isReduced: false };
  const chosen: number[] = [];
  if (first < lo) chosen.push(first);
  const hasNaN = curve.pyramid.extremes(curve.values, lo, hi).nan >= 0;
  const buckets = hasNaN ? Math.max(1, Math.floor((4 * px) / 5)) : px;
  const boundary = boundaries(curve, range, lo, hi, buckets);
  for (let k = 1, a = lo; k <= buckets; k++) {
    const b = k === buckets ? hi : boundary(k, a);
    takeBucket(curve, a, b, chosen);
    a = b;
  }
  if (hi < last) chosen.push(hi);
  return { indexes: new Uint32Array(chosen), isReduced: true };
}

function takeBucket({ values, pyramid }: Curve, from: number, to: number, chosen: number[]): void {
  if (from >= to) return;
  const { min, max, nan } = pyramid.extremes(values, from, to);
  const first = chosen.length;
  chosen.push(from);
  addInOrder(chosen, first, min);
  addInOrder(chosen, first, max);
  addInOrder(chosen, first, nan);
  addInOrder(chosen, first, to - 1);
}

/** Adds an index to the ascending ones from `first` on, unless it is negative or there already. */
function addInOrder(chosen: number[], first: number, index: number): void {
  if (index < 0) return;
  let at = chosen.length;
  while (at > first && chosen[at - 1]! > index) at--;
  if (at > first && chosen[at - 1] === index) return;
  for (let i = chosen.length; i > at; i--) chosen[i] = chosen[i - 1]!;
  chosen[at] = index;
}

/** The indexes of the points in the range: `[lo, hi)`. */
function inside(curve: Curve, { from = -Infinity, to = Infinity, after = 0 }: Range): [number, number] {
  const { count, x, isSorted } = curve;
  const start = Math.min(after, count);
  if (isSorted) {
    const lo = from === -Infinity ? start : search(start, count, (i) => x(i) >= from);
    return [lo, to === Infinity ? count : search(lo, count, (i) => x(i) > to)];
  }
  const isIn = (i: number): boolean => x(i) >= from && x(i) <= to;
  let [lo, hi] = [start, count];
  if (from === -Infinity && to === Infinity) return [lo, hi];
  while (lo < hi && !isIn(lo)) lo++;
  while (hi > lo && !isIn(hi - 1)) hi--;
  return [lo, hi];
}

/** Where bucket `k` begins. By position, or by index on an axis that goes back. */
function boundaries(curve: Curve, { from, to }: Range, lo: number, hi: number, buckets: number) {
  const { x, isSorted } = curve;
  const [x0, x1] = [from ?? x(lo), to ?? x(hi - 1)];
  if (!isSorted || !(x1 > x0)) return (k: number): number => lo + Math.floor(((hi - lo) * k) / buckets);
  return (k: number, start: number): number => {
    const edge = x0 + ((x1 - x0) * k) / buckets;
    return search(start, hi, (i) => x(i) >= edge);
  };
}

/** The first index in `[from, to)` for which `test` holds, if it holds for all after that; `to` if for none. */
function search(from: number, to: number, test: (index: number) => boolean): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
