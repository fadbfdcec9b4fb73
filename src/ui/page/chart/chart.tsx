// A chart: curves of one or several runs, what happened to them in lanes below, and the same in words.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useId, useMemo, useRef } from "preact/hooks";
import type { Axis } from "../../wire.ts";
import { reading } from "../data/api.ts";
import type { Feed, Points } from "../data/series-feed.ts";
import { seriesFeed } from "../data/series-feed.ts";
import { drawnCurves } from "./combine.ts";
import { drawHandLines, drawLanes, LANE_HEIGHT, placeMarks, usedLanes, type Placed } from "./lanes.ts";
import { onChartKey } from "./keys.ts";
import { describe, locate, locateEvaluations, type Mark } from "./marks.ts";
import { Plot, type Range } from "./plot.ts";
import { describeLine, describeMarks } from "./summary.ts";
import { Legend, lineKey, PointTable } from "./legend.tsx";
import { theme } from "./theme.ts";

export interface Line {
  readonly run: string;
  readonly name: string;
  readonly label: string;
  /** Index of its colour. */
  readonly color: number;
  /** Never smoothed. */
  readonly plain?: boolean;
  /** Not shown until someone asks for it. */
  readonly off?: boolean;
  /** Lines of one group are drawn as their mean and range. */
  readonly group?: string | undefined;
}

export interface ChartView {
  readonly x: Axis;
  readonly smooth: number;
  readonly range: Range | undefined;
  readonly setRange: (range: Range | undefined) => void;
  readonly toggleSmooth: () => void;
}

export interface ChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly marks: readonly Mark[];
  /** The metric of the first line's run whose points are its evaluations. */
  readonly evaluations?: string | undefined;
  readonly view: ChartView;
  readonly height: number;
  /** Undefined: by the values. */
  readonly log: boolean | undefined;
  readonly setLog: (log: boolean) => void;
  /** The run that others are shown relative to. */
  readonly base?: string | undefined;
}

/** Many lines hide each other: each of so many has half as many points, of twice as many a quarter. Spikes survive. */
const MANY_LINES = 25;

/** One width for all charts of about the same size, so that they share a request. */
const roundWidth = (width: number, lines: number): number => {
  const part = lines >= 2 * MANY_LINES ? 4 : lines >= MANY_LINES ? 2 : 1;
  return Math.max(200, Math.ceil(width / part / 200) * 200);
};

export function Chart({ title, lines, marks, evaluations, view, height, log, setLog, base }: ChartProps) {
  const figure = useRef<HTMLElement>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const lanes = useRef<HTMLCanvasElement>(null);
  const plot = useRef<Plot | null>(null);
  const placed = useRef<readonly Placed[]>([]);
  const width = useSignal(0);
  const visible = useSignal(false);
  const cursor = useSignal<number | undefined>(undefined);
  const tip = useSignal<{ readonly left: number; readonly text: string } | null>(null);
  const table = useSignal(false);
  const feeds = useSignal<readonly Feed[]>([]);
  /** The last points that were complete: they stay while others are on their way. */
  const shown = useSignal<readonly (Points | null)[]>([]);
  const id = useId();
  const hidden = useSignal<ReadonlySet<string>>(new Set(lines.filter(({ off }) => off).map(lineKey)));
  const visibleLines = lines.filter((line) => !hidden.value.has(lineKey(line)));
  const toggle = (line: Line): void => {
    const next = new Set(hidden.value);
    if (!next.delete(lineKey(line))) next.add(lineKey(line));
    if (next.size < lines.length) hidden.value = next;
  };
  const { x, smooth, range } = view;
  const px = roundWidth(width.value, visibleLines.length);
  const wanted = visibleLines.map(lineKey).join("\n");

  useEffect(() => {
    const size = new ResizeObserver(() => (width.value = figure.current?.clientWidth ?? 0));
    size.observe(figure.current!);
    const sight = new IntersectionObserver(([entry]) => (visible.value = entry!.isIntersecting), {
      rootMargin: "200px",
    });
    sight.observe(figure.current!);
    return () => {
      size.disconnect();
      sight.disconnect();
    };
  }, []);

  const isVisible = visible.value && width.value > 0;
  useEffect(() => {
    if (!isVisible) return undefined;
    const own = visibleLines.map(({ run, name }) => seriesFeed.want({ run, name, x, px, smooth, ...range }));
    // Points of other lines would be drawn as if they were of these.
    if (shown.peek().length !== own.length) shown.value = [];
    feeds.value = own;
    return () => own.forEach((feed) => feed.release());
  }, [isVisible, wanted, x, px, smooth, range?.from, range?.to]);

  useSignalEffect(() => {
    const points = feeds.value.map((feed, i) =>
      visibleLines[i]?.plain ? asLogged(feed.points.value) : feed.points.value,
    );
    if (points.some((each) => each !== null)) shown.value = points;
  });

  // Where the steps are on another axis, for what is marked by its step.
  const steps = useSignal<Feed | null>(null);
  const hasMarks = marks.length > 0 || evaluations !== undefined;
  const needsSteps = isVisible && hasMarks && x !== "step" && x !== "time";
  const [firstRun] = lines.map(({ run }) => run);
  useEffect(() => {
    if (!needsSteps) return undefined;
    const own = seriesFeed.want({ run: firstRun!, name: "step", x, px, smooth: 0 });
    steps.value = own;
    return () => own.release();
  }, [needsSteps, firstRun, x, px]);
  const stepPoints = needsSteps ? (steps.value?.points.value ?? null) : null;
  const evals = useSignal<Feed | null>(null);
  useEffect(() => {
    if (!isVisible || evaluations === undefined) return undefined;
    // The same request as that of the curve itself, where a chart shows it.
    const own = seriesFeed.want({ run: firstRun!, name: evaluations, x, px, smooth, ...range });
    evals.value = own;
    return () => own.release();
  }, [isVisible, evaluations, firstRun, x, px, smooth, range?.from, range?.to]);
  const evaluated = useRef<Points | null>(null);
  evaluated.current = evals.value?.points.value ?? evaluated.current;
  const evalPoints = evaluated.current;
  const located = useMemo(
    () => [
      ...locate(marks, x, stepPoints),
      ...(evaluations !== undefined && evalPoints ? locateEvaluations(evaluations, evalPoints, x, stepPoints) : []),
    ],
    [marks, x, stepPoints, evaluations, evalPoints],
  );

  const error = useComputed(() => feeds.value.map((feed) => feed.error.value).find((each) => each !== null));
  const drawn = useMemo(() => drawnCurves(visibleLines, shown.value, base), [shown.value, wanted, base]);
  const has = {
    smooth: drawn.some(({ curve }) => curve?.smooth !== undefined),
    band: drawn.some(({ curve }) => curve?.low !== undefined),
  };
  const drawnKey = [...drawn.map(({ label, color }) => `${color} ${label}`), has.smooth, has.band].join("\n");
  const isLog = base === undefined && (log ?? prefersLog(title, shown.value));

  const latest = useRef(located);
  latest.current = located;
  const redrawLanes = (current: Plot): void => {
    placed.current = placeMarks(current, latest.current);
    // Without points there is no axis yet.
    if (lanes.current && current.area.left > 0) drawLanes(lanes.current, current, latest.current, placed.current);
  };

  const hasWidth = width.value > 0;
  useEffect(() => {
    if (!isVisible && !plot.current) return undefined;
    const own = new Plot(canvas.current!, width.peek(), {
      labels: drawn.map(({ label }) => label),
      colors: drawn.map(({ color }) => color),
      x,
      log: isLog,
      height,
      has,
      sync: x,
      onRange: (chosen) => view.setRange(chosen),
      onCursor: (at) => (cursor.value = at),
      onDraw: (current) => {
        drawHandLines(current, latest.current);
        redrawLanes(current);
      },
    });
    plot.current = own;
    own.setRange(range);
    own.setCurves(drawn.map(({ curve }) => curve));
    return () => {
      own.destroy();
      plot.current = null;
    };
  }, [isVisible && hasWidth, drawnKey, x, isLog, height, theme.value]);

  useEffect(() => plot.current?.setSize(width.value), [width.value]);
  useEffect(() => plot.current?.setCurves(drawn.map(({ curve }) => curve)), [drawn]);
  useEffect(() => plot.current?.setRange(range), [range?.from, range?.to]);
  useEffect(() => plot.current?.redraw(), [located]);

  const onKey = (event: KeyboardEvent): void =>
    onChartKey(event, {
      plot: plot.current ?? undefined,
      points: shown.value,
      marks: located,
      view,
      cursor,
      tip: (mark) =>
        plot.current && (tip.value = tipAt(plot.current.area.left, plot.current.position(mark.at ?? 0), mark)),
      toggleLog: () => setLog(!isLog),
      toggleTable: () => (table.value = !table.value),
    });

  const onLaneHover = (event: MouseEvent): void => {
    const near = nearestTo(placed.current, event);
    tip.value = near
      ? {
          left: near.x,
          text:
            near.marks.slice(0, 3).map(describe).join("\n\n") +
            (near.marks.length > 3 ? `\n\nand ${near.marks.length - 3} more` : ""),
        }
      : null;
  };

  const laneCount = usedLanes(located).length;
  const summary = useMemo(
    () => [...drawn.map(({ label, curve }) => describeLine(label, curve)), describeMarks(marks)],
    [drawn, marks],
  );
  return (
    <figure
      class="chart"
      ref={figure}
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-text`}
      data-chart={title}
    >
      <figcaption>
        <h2 id={`${id}-title`}>{title}</h2>
        <Legend
          lines={lines}
          drawn={drawn}
          visible={visibleLines}
          cursor={cursor.value}
          toggle={toggle}
          title={title}
        />
        <span class="tools">
          <button type="button" aria-pressed={isLog} onClick={() => setLog(!isLog)}>
            log
          </button>
          <button type="button" aria-pressed={table.value} onClick={() => (table.value = !table.value)}>
            table
          </button>
        </span>
      </figcaption>
      {error.value && shown.value.length === 0 ? (
        <p class="chart-error" role="alert">
          {error.value}
        </p>
      ) : null}
      {isVisible && !error.value && shown.value.length === 0 && (
        <p class="chart-wait soft">{reading.value ?? "Reading…"}</p>
      )}
      {/* The keys of the chart: it can be focused, so that a keyboard can read its values. */}
      <div
        class="canvas"
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="chart"
        aria-label={`${title}: arrow keys read values, plus and minus zoom, T shows a table`}
        style={{ height: `${height}px` }}
        onKeyDown={onKey}
        onBlur={() => (tip.value = null)}
      />
      <canvas
        class="lanes"
        ref={lanes}
        height={laneCount * LANE_HEIGHT}
        hidden={laneCount === 0}
        onMouseMove={onLaneHover}
        onMouseLeave={() => (tip.value = null)}
        aria-hidden="true"
      />
      {tip.value && (
        <p class="tip" role="status" style={{ left: `${Math.max(0, Math.min(tip.value.left, width.value - 240))}px` }}>
          {tip.value.text}
        </p>
      )}
      <p id={`${id}-text`} class="hidden">
        {summary.filter(Boolean).join("; ")}
      </p>
      {table.value && <PointTable drawn={drawn} x={x} title={title} />}
    </figure>
  );
}

/** The mark under the pointer. */
function nearestTo(placed: readonly Placed[], { offsetX, offsetY }: MouseEvent): Placed | undefined {
  const distance = ({ x }: Placed): number => Math.abs(x - offsetX);
  return placed
    .filter((each) => distance(each) < 7 && Math.abs(each.y - offsetY) < 9)
    .reduce<Placed | undefined>((best, each) => (best && distance(best) <= distance(each) ? best : each), undefined);
}

const asLogged = (points: Points | null): Points | null => points && { ...points, smooth: undefined };

const tipAt = (left: number, at: number, mark: Mark) => ({ left: left + at, text: describe(mark) });

/** Losses and norms that span more than two decades are read on a logarithmic scale. */
function prefersLog(title: string, lines: readonly (Points | null)[]): boolean {
  if (!/loss|norm|perplexity/i.test(title)) return false;
  let min = Infinity;
  let max = -Infinity;
  for (const line of lines) {
    for (const y of line?.y ?? []) {
      if (y <= 0) return false;
      if (y < min) min = y;
      if (y > max && y !== Infinity) max = y;
    }
  }
  return max / min > 100;
}
