// Curves made from others: the difference to a base, and the mean of a group with its range.
import type { Points } from "../data/series-feed.ts";
import { valueAt } from "./summary.ts";

/** A curve as it is drawn; a group's has a range around it. */
export interface Curve extends Points {
  readonly low?: Float64Array;
  readonly high?: Float64Array;
}

/** What is drawn for one entry of the legend. */
export interface Drawn {
  readonly label: string;
  readonly color: number;
  readonly curve: Curve | null;
}

const shownAt = (points: Points, x: number): number => {
  const near = valueAt(points, x)!;
  return near.smooth ?? near.y;
};

/** How much more than the base, at each x that the base has reached. */
function relativeTo(points: Points, base: Points): Points {
  const last = base.x.at(-1) ?? -Infinity;
  const first = base.x[0] ?? Infinity;
  const inside = points.x.map((x) => (x >= first && x <= last ? 1 : 0));
  const keep = (values: Float64Array): Float64Array => values.filter((_, i) => inside[i] === 1);
  const x = keep(points.x);
  return {
    ...points,
    x,
    y: keep(points.y).map((y, i) => y - valueAt(base, x[i]!)!.y),
    smooth: points.smooth && keep(points.smooth).map((y, i) => y - shownAt(base, x[i]!)),
  };
}

/** The last x up to which two curves have the same points; undefined when the first ones differ already. */
function sameUntil(a: Points, b: Points): number | undefined {
  let i = 0;
  while (i < a.x.length && i < b.x.length && a.x[i] === b.x[i] && Object.is(a.y[i], b.y[i])) i++;
  return i === 0 ? undefined : a.x[i - 1];
}

/** The mean, the lowest and the highest of the members that have reached an x, at the points of the longest member. */
function groupCurve(members: readonly Points[]): Curve | null {
  const having = members.filter(({ x }) => x.length > 0);
  const longest = having.reduce<Points | null>(
    (best, each) => (each.x.length > (best?.x.length ?? 0) ? each : best),
    null,
  );
  if (!longest) return null;
  const size = longest.x.length;
  const [mean, low, high] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
  longest.x.forEach((x, i) => {
    const values = having.filter((each) => x >= each.x[0]! && x <= each.x.at(-1)!).map((each) => shownAt(each, x));
    mean[i] = values.reduce((sum, value) => sum + value, 0) / values.length;
    low[i] = Math.min(...values);
    high[i] = Math.max(...values);
  });
  return { ...longest, y: mean, smooth: mean, low, high };
}

interface Source {
  readonly run: string;
  readonly label: string;
  readonly color: number;
  readonly group?: string | undefined;
}

/** The lines of a chart as they are drawn: as they are, relative to the run `base`, or one for each group. */
export function drawnCurves(
  lines: readonly Source[],
  points: readonly (Points | null)[],
  base: string | undefined,
): Drawn[] {
  const reference = points[lines.findIndex(({ run }) => run === base)];
  const own = lines.map(({ run, label, color }, i): Drawn => {
    const curve = points[i] ?? null;
    if (!reference || !curve || reference.x.length === 0) return { label, color, curve };
    const same = run === base ? undefined : sameUntil(curve, reference);
    return {
      label: same === undefined ? label : `${label} (same until ${same})`,
      color,
      curve: relativeTo(curve, reference),
    };
  });
  const groups = new Set(lines.flatMap(({ group }) => group ?? []));
  if (groups.size === 0) return own;
  return [...groups].map((group, color) => ({
    label: group,
    color,
    curve: groupCurve(own.flatMap(({ curve }, i) => (curve && lines[i]!.group === group ? [curve] : []))),
  }));
}
