// The keyboard of a chart that has the focus.
import type { Signal } from "@preact/signals";
import type { Points } from "../data/series-feed.ts";
import type { ChartView } from "./chart.tsx";
import { LANES, type Located } from "./marks.ts";
import type { Plot } from "./plot.ts";
import { valueAt } from "./summary.ts";

export interface ChartKeys {
  readonly plot: Plot | undefined;
  readonly points: readonly (Points | null)[];
  readonly marks: readonly Located[];
  readonly view: ChartView;
  readonly cursor: Signal<number | undefined>;
  tip(mark: Located): void;
  toggleLog(): void;
  toggleTable(): void;
}

const ZOOM = 0.6;
const PAN = 0.2;

export function onChartKey(event: KeyboardEvent, keys: ChartKeys): void {
  const { plot, view } = keys;
  if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => (event.shiftKey ? pan(keys, -PAN) : moveCursor(keys, -1)),
    ArrowRight: () => (event.shiftKey ? pan(keys, PAN) : moveCursor(keys, 1)),
    "+": () => zoom(keys, ZOOM),
    "=": () => zoom(keys, ZOOM),
    "-": () => zoom(keys, 1 / ZOOM),
    "0": () => view.setRange(undefined),
    "[": () => toMark(keys, -1),
    "]": () => toMark(keys, 1),
    l: () => keys.toggleLog(),
    s: () => view.toggleSmooth(),
    t: () => keys.toggleTable(),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

/** To the next point of the longest line. */
function moveCursor({ plot, points, cursor }: ChartKeys, by: number): void {
  const line = points.reduce((best, each) => ((each?.x.length ?? 0) > (best?.x.length ?? 0) ? each : best), null);
  if (!line || line.x.length === 0) return;
  const { from, to } = plot!.range;
  const at = valueAt(line, cursor.peek() ?? (by > 0 ? from : to))!.x;
  const index = line.x.indexOf(at) + (cursor.peek() === undefined ? 0 : by);
  const next = line.x[Math.min(line.x.length - 1, Math.max(0, index))]!;
  plot!.setCursor(next);
  cursor.value = next;
}

function zoom({ plot, view, cursor }: ChartKeys, factor: number): void {
  const { from, to } = plot!.range;
  const center = cursor.peek() ?? (from + to) / 2;
  view.setRange({ from: center - (center - from) * factor, to: center + (to - center) * factor });
}

function pan({ plot, view }: ChartKeys, part: number): void {
  const { from, to } = plot!.range;
  const by = part * (to - from);
  view.setRange({ from: from + by, to: to + by });
}

function toMark({ plot, marks, cursor, tip }: ChartKeys, by: number): void {
  const changes = marks
    .filter(({ kind }) => LANES[0]!.kinds.includes(kind))
    .flatMap((mark) => (mark.at === undefined ? [] : [{ mark, x: mark.at }]))
    .sort((a, b) => a.x - b.x);
  const at = cursor.peek() ?? (by > 0 ? -Infinity : Infinity);
  const next = by > 0 ? changes.find(({ x }) => x > at) : changes.findLast(({ x }) => x < at);
  if (!next) return;
  plot!.setCursor(next.x);
  cursor.value = next.x;
  tip(next.mark);
}
