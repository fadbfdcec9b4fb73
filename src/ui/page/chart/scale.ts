// From points to what a canvas can draw: values without a height set aside, logarithmic ranges and their lines.
import type { Curve } from "./combine.ts";

export interface Drawable {
  readonly x: number[];
  readonly raw: (number | null)[];
  /** Undefined where the line needs no point. */
  readonly smooth: (number | null | undefined)[];
  /** The range of a group. */
  readonly low: (number | null)[];
  readonly high: (number | null)[];
  readonly isSmooth: boolean;
  /** Values that have no height on this scale; `low`: they belong to its lower edge. */
  readonly undrawable: readonly { readonly x: number; readonly low: boolean }[];
}

/** Evaluations are few, and each is an average already: they are drawn as they are. */
const FEW = 100;

const EMPTY: Drawable = { x: [], raw: [], smooth: [], low: [], high: [], isSmooth: false, undrawable: [] };

/** @param width of the chart in pixels. Several records may have the same x (the last step of an epoch, and the epoch): the last one counts. */
export function toDrawable(points: Curve | null, log: boolean, width: number): Drawable {
  if (points === null) return EMPTY;
  const isSmooth = points.low !== undefined || (points.smooth !== undefined && points.x.length >= FEW);
  const x: number[] = [];
  const raw: (number | null)[] = [];
  const smooth: (number | null | undefined)[] = [];
  // A smooth line has no spikes that one point a pixel would miss, and is drawn faster.
  const every = Math.max(1, Math.floor(points.x.length / width));
  const low: (number | null)[] = [];
  const high: (number | null)[] = [];
  const undrawable: { x: number; low: boolean }[] = [];
  const fits = (value: number): boolean => Number.isFinite(value) && (!log || value > 0);
  for (let i = 0; i < points.x.length; i++) {
    const at = points.x[i]!;
    const value = points.y[i]!;
    if (!fits(value)) undrawable.push({ x: at, low: value === -Infinity || (log && value <= 0) });
    const smoothed = isSmooth ? points.smooth?.[i] : undefined;
    // uPlot wants each x once: points of the same x (M4 keeps four of a pixel) lie a hair apart.
    x.push(x.length > 0 && at <= x.at(-1)! ? nextAfter(x.at(-1)!) : at);
    raw.push(fits(value) && !points.low ? value : null);
    low.push(points.low && fits(points.low[i]!) ? points.low[i]! : null);
    high.push(points.high && fits(points.high[i]!) ? points.high[i]! : null);
    // The line spans a NaN: the mark at the edge shows that there is one.
    const isNeeded = i % every === 0 || i === points.x.length - 1;
    smooth.push(smoothed !== undefined && fits(smoothed) ? (isNeeded ? smoothed : undefined) : null);
  }
  return { x, raw, smooth, low, high, isSmooth, undrawable };
}

const nextAfter = (x: number): number => x + Math.max(Math.abs(x) * 2 ** -50, Number.MIN_VALUE);

const ROUGH = 20;

/** Whether a line goes up and down so often that it fills an area, unlike a learning rate's. */
export function isRough(values: readonly (number | null)[]): boolean {
  let [least, greatest, way] = [Infinity, -Infinity, 0];
  let before: number | undefined;
  for (const value of values) {
    if (value === null) continue;
    if (before !== undefined) way += Math.abs(value - before);
    if (value < least) least = value;
    if (value > greatest) greatest = value;
    before = value;
  }
  return way > ROUGH * (greatest - least);
}

/** A tenth of the height above and below, at least a third of a decade. */
export function logRange(min: number, max: number): [number, number] {
  if (!(min > 0) || !(max > 0)) return [0.1, 1];
  const pad = Math.max(0.06 * Math.log10(max / min), 0.05);
  return [min / 10 ** pad, max * 10 ** pad];
}

/** Lines at powers of ten; over less than two decades also at 2 and 5, and over less than a third evenly. */
export function logSplits(min: number, max: number): number[] {
  const decades = Math.log10(max / min);
  const first = Math.floor(Math.log10(min));
  const last = Math.ceil(Math.log10(max));
  const every = Math.max(1, Math.ceil((last - first) / 7));
  const factors = decades > 2 ? [1] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const splits: number[] = [];
  for (let power = first; power <= last; power += every)
    for (const factor of factors) splits.push(Number((factor * 10 ** power).toPrecision(6)));
  const inside = splits.filter((split) => split >= min && split <= max);
  return inside.length >= 2 ? inside : [min, (min + max) / 2, max].map((at) => Number(at.toPrecision(3)));
}
