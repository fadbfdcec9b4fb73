// A chart in words, for those who do not see it: a sentence, and a table of some of its points.
import type { Points } from "../data/series-feed.ts";
import * as format from "../format.ts";
import type { Mark } from "./marks.ts";

/** "loss, 916 points, from 5.1 to 0.12, lowest 0.08 at 690, highest 13 at 32" */
export function describeLine(label: string, points: Points | null): string {
  if (points === null || points.x.length === 0) return `${label}: no points yet`;
  let low = -1;
  let high = -1;
  let notFinite = 0;
  points.y.forEach((y, i) => {
    if (!Number.isFinite(y)) return void notFinite++;
    if (low < 0 || y < points.y[low]!) low = i;
    if (high < 0 || y > points.y[high]!) high = i;
    return undefined;
  });
  const start = `${label}, ${format.count(points.total, "point")}`;
  if (low < 0) return `${start}, none of them finite`;
  const at = (i: number): string => `${format.number(points.y[i])} at ${format.number(points.x[i])}`;
  return [
    start,
    `from ${format.number(points.y[0])} to ${format.number(points.y.at(-1))}`,
    `lowest ${at(low)}`,
    `highest ${at(high)}`,
    ...(notFinite > 0 ? [format.count(notFinite, "value that is not finite", "values that are not finite")] : []),
  ].join(", ");
}

export function describeMarks(marks: readonly Mark[]): string {
  const changes = marks.filter(({ kind }) => kind === "hand" || kind === "hook").length;
  const saves = marks.filter(({ kind }) => kind === "checkpoint").length;
  return [changes > 0 ? format.count(changes, "intervention") : "", saves > 0 ? format.count(saves, "checkpoint") : ""]
    .filter(Boolean)
    .join(", ");
}

const MOST_ROWS = 20;

/** At most twenty rows, evenly spread over the points; first and last included. */
export function tableRows(
  lines: readonly (Points | null)[],
): { readonly x: number; readonly y: readonly (number | undefined)[] }[] {
  const longest = lines.reduce<Points | null>(
    (best, each) => ((each?.x.length ?? 0) > (best?.x.length ?? 0) ? each : best),
    null,
  );
  if (longest === null || longest.x.length === 0) return [];
  const last = longest.x.length - 1;
  const rows = Math.min(MOST_ROWS, last + 1);
  const indexes = Array.from({ length: rows }, (_, i) => (rows === 1 ? 0 : Math.round((i * last) / (rows - 1))));
  return indexes.map((i) => ({
    x: longest.x[i]!,
    y: lines.map((line) => (line ? valueAt(line, longest.x[i]!)?.y : undefined)),
  }));
}

/** The point nearest to x; undefined beyond both ends. */
export function valueAt(
  points: Points,
  x: number,
): { readonly x: number; readonly y: number; readonly smooth?: number } | undefined {
  const { x: xs, y } = points;
  if (xs.length === 0) return undefined;
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle]! < x) low = middle + 1;
    else high = middle;
  }
  const near = low > 0 && Math.abs(xs[low - 1]! - x) <= Math.abs(xs[low]! - x) ? low - 1 : low;
  return { x: xs[near]!, y: y[near]!, ...(points.smooth && { smooth: points.smooth[near]! }) };
}
