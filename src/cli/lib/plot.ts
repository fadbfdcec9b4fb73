// Curves in a terminal, over a common axis of steps.
import { safeLine } from "../../core/safe-text.ts";
import { formatNumber } from "../../terminal/format-number.ts";
import { isStyled, paint } from "./paint.ts";

export interface Curve {
  readonly name: string;
  readonly steps: Float64Array;
  readonly values: Float64Array;
}

const HEIGHT = 15;
/** Of a terminal whose width nobody knows. */
const USUAL_WIDTH = 80;
const LABEL = 12;
const COLORS = ["blue", "green", "magenta", "yellow", "cyan", "red"] as const;

/** Draws the first few: more than there are colours nobody could tell apart. */
export async function drawCurves(metric: string, all: readonly Curve[]): Promise<string> {
  const chart = await import("asciichart");
  const drawable = all.filter(({ values }) => values.some(Number.isFinite));
  if (drawable.length === 0) return `${safeLine(metric)}: there is not one finite value to draw.`;
  const curves = drawable.slice(0, COLORS.length);
  const width = Math.max(20, (process.stdout.columns ?? USUAL_WIDTH) - LABEL - 2);
  const last = Math.max(...curves.map(({ steps }) => steps.at(-1)!));
  const first = Math.min(...curves.map(({ steps }) => steps[0]!));
  const rows = curves.map((curve) => resample(curve, first, last, width));
  const isColored = isStyled(process.stdout);
  const drawing = chart.plot(rows, {
    height: HEIGHT,
    format: (value) => formatNumber(value).padStart(LABEL),
    ...(isColored && { colors: COLORS.map((color) => chart[color]) }),
  });
  const axis = `${" ".repeat(LABEL)} step ${first}${`step ${last}`.padStart(Math.max(1, width - `step ${first}`.length))}`;
  const names = curves.map(({ name }, i) =>
    isColored ? paint(process.stdout, COLORS[i]!, `■ ${safeLine(name)}`) : safeLine(name),
  );
  const rest = drawable.length > curves.length ? `\n… and ${drawable.length - curves.length} more runs, not drawn` : "";
  return `${safeLine(metric)}\n${drawing}\n${axis}\n${names.join("   ")}${rest}`;
}

/** One value for each column up to the curve's end: the latest finite one at that step, and before the first that one. */
function resample({ steps, values }: Curve, first: number, last: number, width: number): number[] {
  const end = Math.max(1, Math.ceil((width * (steps.at(-1)! - first)) / Math.max(1, last - first)));
  let at = 0;
  let shown = values.find(Number.isFinite)!;
  return Array.from({ length: Math.min(width, end) }, (_, column) => {
    const step = first + ((last - first) * column) / Math.max(1, width - 1);
    for (; at < steps.length && steps[at]! <= step; at++) if (Number.isFinite(values[at])) shown = values[at]!;
    return shown;
  });
}
