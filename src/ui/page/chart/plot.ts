// The one file that knows uPlot: curves with a shade of what was logged, marks of NaN, zoom, pan and a shared cursor.
import uPlot from "uplot";
import type { Axis } from "../../wire.ts";
import * as format from "../format.ts";
import type { Curve } from "./combine.ts";
import { lineColor, lineDash, theme } from "./theme.ts";
import { isRough, logRange, logSplits, toDrawable, type Drawable } from "./scale.ts";

export interface PlotOptions {
  readonly labels: readonly string[];
  /** Index of the colour of each line. */
  readonly colors: readonly number[];
  readonly x: Axis;
  readonly log: boolean;
  readonly height: number;
  /** Whether lines have smoothed values, and ranges around them: each is a series of its own. */
  readonly has: { readonly smooth: boolean; readonly band: boolean };
  /** Charts with the same key have one cursor. */
  readonly sync: string;
  /** A range was chosen with the pointer; undefined: all. */
  onRange(range: Range | undefined): void;
  /** Position of the cursor in units of x; undefined when it has left. */
  onCursor(x: number | undefined): void;
  /** Draws over the curves; called after each redraw. */
  onDraw(plot: Plot): void;
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

const GUTTER = 56;
const RIGHT = 12;
/** Pixels between dots from which on they are drawn. */
const DOT_SPACE = 14;
const WIDTH = 1.5;
/** From so many points a pixel on a line is an area of strokes: thin ones look the same, and are drawn many times as fast. */
const DENSE = 2;
/** So are so many lines. */
const MANY_LINES = 24;
const THIN = 1;
/** How strongly the logged values show behind the smoothed line. */
const SHADE = "59";
/** Shades of several lines lie over each other. */
const FAINT = "30";
const BAND = "2e";
/** From so many lines on, a pan moves what is drawn; it is drawn again once the pointer rests. */
const MANY = 8;
const REST_MS = 120;
/** A page that cannot keep up with the pointer has not seen it rest. */
const REST_FRAMES = 2;

interface Pan {
  /** Where the pointer was pressed, and the range then. */
  readonly at: number;
  readonly range: Range;
  /** The range now. */
  now: Range;
  /** Where the pointer was when the curves were drawn last, and a copy of them. */
  drawnAt: number;
  copy: HTMLCanvasElement | undefined;
}

export class Plot {
  readonly #plot: uPlot;
  readonly #options: PlotOptions;
  #data: readonly Drawable[] = [];
  #range: Range | undefined;
  #pan: Pan | undefined;
  #resting: ReturnType<typeof setTimeout> | undefined;

  constructor(parent: HTMLElement, width: number, options: PlotOptions) {
    this.#options = options;
    this.#plot = new uPlot(this.#config(width), [[]], parent);
    this.#plot.over.addEventListener("wheel", this.#onWheel, { passive: false });
    this.#plot.over.addEventListener("mousedown", this.#onPanBegin, { capture: true });
  }

  /** Left edge and width of the plotted area, in CSS pixels. */
  get area(): { readonly left: number; readonly top: number; readonly width: number; readonly height: number } {
    const { bbox } = this.#plot;
    const ratio = devicePixelRatio;
    return { left: bbox.left / ratio, top: bbox.top / ratio, width: bbox.width / ratio, height: bbox.height / ratio };
  }

  get range(): Range {
    const { min, max } = this.#plot.scales.x!;
    return { from: min ?? 0, to: max ?? 1 };
  }

  /** Pixels from the left edge of the plotted area. */
  position(x: number): number {
    return this.#plot.valToPos(x, "x");
  }

  /** The canvas, for what is drawn over the curves; in units of the device's pixels. */
  get context(): CanvasRenderingContext2D {
    return this.#plot.ctx;
  }

  setCurves(curves: readonly (Curve | null)[]): void {
    const { width } = this.area;
    this.#data = curves.map((each) => toDrawable(each, this.#options.log, width));
    const { smooth: hasSmooth, band } = this.#options.has;
    const tables: uPlot.AlignedData[] = this.#data.map(({ x, raw, smooth, low, high }) => [
      x,
      raw,
      ...(hasSmooth ? [smooth] : []),
      ...(band ? [low, high] : []),
    ]);
    // What is missing because another line has a point there is no gap; NaN is one.
    const joined =
      tables.length > 0
        ? uPlot.join(
            tables,
            tables.map((table) => table.map(() => 1 as const)),
          )
        : ([[]] as uPlot.AlignedData);
    this.#data.forEach(({ x, raw, isSmooth }, i) => {
      // Not a shade: where thin strokes cross, it would be darker.
      const isDense = x.length > DENSE * width && isRough(raw);
      const isThin = !isSmooth && (isDense || curves.length > MANY_LINES);
      this.#plot.series[1 + i * this.#columns]!.width = isThin ? THIN : WIDTH;
    });
    this.#plot.batch(() => {
      this.#plot.setData(joined, false);
      this.#applyRange();
    });
  }

  setRange(range: Range | undefined): void {
    this.#range = range;
    this.#applyRange();
  }

  setSize(width: number): void {
    if (width !== this.#plot.width) this.#plot.setSize({ width, height: this.#options.height });
  }

  /** Puts the cursor at a value of x; keyboards and synchronized lists use it. */
  setCursor(x: number | undefined): void {
    const left = x === undefined ? -10 : this.#plot.valToPos(x, "x");
    this.#plot.setCursor({ left, top: 10 });
  }

  redraw(): void {
    this.#plot.redraw(false);
  }

  destroy(): void {
    clearTimeout(this.#resting);
    this.#plot.destroy();
  }

  #applyRange(): void {
    const [xs] = this.#plot.data;
    const first = xs[0];
    if (first === undefined) return;
    const last = xs[xs.length - 1]!;
    const { from, to } = this.#range ?? { from: first, to: last };
    this.#plot.setScale("x", { min: from, max: to > from ? to : from + 1 });
  }

  /** Series of uPlot for each line. */
  get #columns(): number {
    const { smooth, band } = this.#options.has;
    return 1 + Number(smooth) + 2 * Number(band);
  }

  #config(width: number): uPlot.Options {
    const { labels, x, log, height, sync, onDraw, onCursor } = this.#options;
    const { band } = this.#options.has;
    const columns = this.#columns;
    const { soft, rule, font } = theme.value;
    const axis = { stroke: soft, font, grid: { stroke: rule, width: 1 }, ticks: { show: false } };
    return {
      width,
      height,
      ms: 1,
      padding: [8, RIGHT, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: x === "time", auto: false },
        y: log
          ? { distr: 3, range: (_, min, max) => logRange(min, max) }
          : { range: { min: { pad: 0.06 }, max: { pad: 0.06 } } },
      },
      axes: [
        {
          ...axis,
          size: 26,
          gap: 6,
          grid: { show: false },
          ...(x !== "time" && { values: (_, splits) => splits.map(format.tick) }),
        },
        {
          ...axis,
          size: GUTTER,
          gap: 8,
          space: 36,
          values: (_, splits) => splits.map((split) => (split === null ? null : format.tick(split))),
          ...(log && { splits: (_, __, min, max) => logSplits(min, max), filter: (_, splits) => splits }),
        },
      ],
      series: [{}, ...labels.flatMap((_, i) => this.#lines(i))],
      bands: band
        ? labels.map((_, i) => ({
            series: [(i + 1) * columns, (i + 1) * columns - 1],
            fill: lineColor(this.#options.colors[i]!) + BAND,
          }))
        : [],
      cursor: {
        y: false,
        points: { size: 7, width: 1.5 },
        drag: { x: true, y: false, setScale: false, dist: 4 },
        sync: { key: sync, setSeries: false },
        bind: { dblclick: () => () => (this.#options.onRange(undefined), null) },
      },
      hooks: {
        draw: [() => (this.#drawNaN(), onDraw(this))],
        setSelect: [() => this.#onSelect()],
        setCursor: [({ cursor: { left = -1 } }) => onCursor(left < 0 ? undefined : this.#plot.posToVal(left, "x"))],
      },
    };
  }

  /** What was logged as a thin shade, and the smoothed line over it; without smoothing the logged values are the line. */
  #lines(i: number): uPlot.Series[] {
    const { has } = this.#options;
    const color = lineColor(this.#options.colors[i]!);
    const dash = lineDash(this.#options.colors[i]!);
    const isSmooth = (): boolean => this.#data[i]?.isSmooth === true;
    const dots = (plot: uPlot, index: number, from: number, to: number): boolean => {
      if (isSmooth()) return false;
      const most = plot.bbox.width / devicePixelRatio / DOT_SPACE;
      const values = plot.data[index]!;
      let seen = 0;
      for (let at = from; at <= to && seen <= most; at++) if (values[at] !== null && values[at] !== undefined) seen++;
      return seen > 0 && seen < most;
    };
    return [
      {
        stroke: () => (isSmooth() ? color + (this.#options.labels.length > 2 ? FAINT : SHADE) : color),
        width: WIDTH,
        dash,
        points: { show: dots, size: 5, width: 1.25, stroke: color, fill: theme.value.paper },
      },
      ...(has.smooth ? [{ stroke: color, width: 2, dash, points: { show: false } }] : []),
      // The edges of a band: only what is between them is drawn.
      ...(has.band ? [{ points: { show: false } }, { points: { show: false } }] : []),
    ];
  }

  /** NaN and the infinities have no height: a small mark at the edge says where they are. */
  #drawNaN(): void {
    const { ctx, bbox } = this.#plot;
    const size = 4 * devicePixelRatio;
    ctx.save();
    this.#data.forEach(({ undrawable }, i) => {
      ctx.fillStyle = lineColor(this.#options.colors[i]!);
      for (const { x, low } of undrawable) {
        const at = this.#plot.valToPos(x, "x", true);
        if (at < bbox.left || at > bbox.left + bbox.width) continue;
        const edge = low ? bbox.top + bbox.height : bbox.top;
        ctx.beginPath();
        ctx.moveTo(at - size, edge);
        ctx.lineTo(at + size, edge);
        ctx.lineTo(at, edge + (low ? -1.5 : 1.5) * size);
        ctx.fill();
      }
    });
    ctx.restore();
  }

  #onSelect(): void {
    const { left, width } = this.#plot.select;
    if (width < 4) return;
    const range = { from: this.#plot.posToVal(left, "x"), to: this.#plot.posToVal(left + width, "x") };
    this.#plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.#options.onRange(range);
  }

  /** Only with a modifier: else one could not scroll the page over a chart. */
  readonly #onWheel = (event: WheelEvent): void => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { from, to } = this.range;
    const at = this.#plot.posToVal(event.offsetX, "x");
    const factor = event.deltaY > 0 ? 1.25 : 0.8;
    this.#options.onRange({ from: at - (at - from) * factor, to: at + (to - at) * factor });
  };

  readonly #onPanBegin = (event: MouseEvent): void => {
    if (!event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.#pan = { at: event.clientX, range: this.range, now: this.range, drawnAt: event.clientX, copy: undefined };
    const move = (moved: MouseEvent): void => this.#panTo(moved.clientX);
    const end = (): void => {
      removeEventListener("mousemove", move);
      clearTimeout(this.#resting);
      const { now, copy } = this.#pan!;
      copy?.parentElement!.remove();
      this.#pan = undefined;
      this.#showRange(now);
      this.#options.onRange(now);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", end, { once: true });
  };

  #panTo(clientX: number): void {
    if (!this.#pan) return;
    const { at, range } = this.#pan;
    const by = ((at - clientX) * (range.to - range.from)) / this.area.width;
    this.#pan.now = { from: range.from + by, to: range.to + by };
    if (this.#options.labels.length < MANY) return this.#showRange(this.#pan.now);
    this.#pan.copy ??= this.#copy();
    // The browser moves it without anything being drawn.
    this.#pan.copy.style.transform = `translateX(${clientX - this.#pan.drawnAt}px)`;
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => this.#restIn(REST_FRAMES, this.#pan!.now, clientX), REST_MS);
  }

  #restIn(frames: number, shown: Range, clientX: number): void {
    requestAnimationFrame(() => {
      if (this.#pan?.now !== shown) return;
      if (frames > 1) return this.#restIn(frames - 1, shown, clientX);
      this.#pan.copy?.parentElement!.remove();
      Object.assign(this.#pan, { copy: undefined, drawnAt: clientX });
      this.#showRange(shown);
    });
  }

  #showRange({ from, to }: Range): void {
    this.#plot.setScale("x", { min: from, max: to });
  }

  /** The curves and the labels of the axis below them, in a frame that lies over them. */
  #copy(): HTMLCanvasElement {
    const { ctx, bbox, over } = this.#plot;
    const ratio = devicePixelRatio;
    const copy = document.createElement("canvas");
    copy.width = ctx.canvas.width - bbox.left;
    copy.height = ctx.canvas.height;
    Object.assign(copy.style, { width: `${copy.width / ratio}px`, height: `${copy.height / ratio}px` });
    copy.getContext("2d")!.drawImage(ctx.canvas, -bbox.left, 0);
    const frame = document.createElement("div");
    frame.className = "moved";
    frame.style.left = `${bbox.left / ratio}px`;
    frame.append(copy);
    over.before(frame);
    return copy;
  }
}
