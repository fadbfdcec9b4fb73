// Rows of a heat map from curves: a column for each step that is drawn, on a logarithmic scale of colours.
import type { SeriesData } from "../../series.ts";
import { cividis } from "./cividis.ts";

interface HeatRow {
  readonly name: string;
  readonly values: Float64Array;
  readonly last: number;
}

export interface HeatMap {
  readonly steps: Float64Array;
  readonly rows: readonly HeatRow[];
  readonly min: number;
  readonly max: number;
}

/** The curves of one heat request have the same x. */
export function heatMap(series: readonly SeriesData[]): HeatMap | null {
  const longest = series.reduce<SeriesData | null>(
    (best, each) => (each.x.length > (best?.x.length ?? 0) ? each : best),
    null,
  );
  if (!longest) return null;
  let min = Infinity;
  let max = 0;
  for (const { y } of series) {
    for (const value of y) {
      if (!(value > 0) || value === Infinity) continue;
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  if (min > max) return null;
  return {
    steps: longest.x,
    rows: series.map(({ name, y }) => ({ name, values: y, last: y.at(-1) ?? Number.NaN })),
    min,
    max,
  };
}

const NOT_FINITE = [200, 60, 60] as const;

/** One pixel for each value; the canvas is stretched by the stylesheet. */
export function paintHeat(canvas: HTMLCanvasElement, { rows, min, max }: HeatMap): void {
  const columns = Math.max(...rows.map(({ values }) => values.length));
  canvas.width = columns;
  canvas.height = rows.length;
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(columns, rows.length);
  const scale = Math.log(max / min) || 1;
  rows.forEach(({ values }, row) => {
    values.forEach((value, column) => {
      const color = Number.isFinite(value) ? cividis(value > 0 ? Math.log(value / min) / scale : 0) : NOT_FINITE;
      image.data.set([...color, 255], 4 * (row * columns + column));
    });
  });
  context.putImageData(image, 0, 0);
}
