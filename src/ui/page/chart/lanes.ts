// The lanes under an axis, drawn on a canvas: a mark for each thing that happened, marks that touch become one.
import { LANES, type Located, type Mark, type MarkKind } from "./marks.ts";
import type { Plot } from "./plot.ts";
import { theme } from "./theme.ts";

export const LANE_HEIGHT = 16;
const SIZE = 4.5;
const TOUCH = 7;
/** Evaluations are many: each is a thin line. */
const TOUCH_LINES = 3;

/** A mark where it is drawn, with those that it hides. */
export interface Placed {
  readonly x: number;
  readonly y: number;
  readonly marks: readonly Mark[];
}

/** The lanes that have something in them. */
export const usedLanes = (marks: readonly Mark[]) =>
  LANES.filter(({ kinds }) => marks.some(({ kind }) => kinds.includes(kind)));

export function placeMarks(plot: Plot, marks: readonly Located[]): Placed[] {
  const { left, width } = plot.area;
  const lanes = usedLanes(marks);
  const placed: { x: number; y: number; marks: Mark[] }[] = [];
  lanes.forEach(({ kinds }, lane) => {
    let last: { x: number; y: number; marks: Mark[] } | undefined;
    const own = marks.flatMap((mark) => {
      const isHere = kinds.includes(mark.kind) && mark.at !== undefined;
      return isHere ? [{ mark, x: plot.position(mark.at) }] : [];
    });
    for (const { mark, x } of own.sort((a, b) => a.x - b.x)) {
      if (x < -1 || x > width + 1) continue;
      const touch = mark.kind === "evaluation" ? TOUCH_LINES : TOUCH;
      if (last && left + x - last.x < touch && last.marks[0]!.kind === mark.kind) {
        last.marks.push(mark);
        continue;
      }
      last = { x: left + x, y: (lane + 0.5) * LANE_HEIGHT, marks: [mark] };
      placed.push(last);
    }
  });
  return placed;
}

export function drawLanes(
  canvas: HTMLCanvasElement,
  plot: Plot,
  marks: readonly Mark[],
  placed: readonly Placed[],
): void {
  const ratio = devicePixelRatio;
  const lanes = usedLanes(marks);
  const width = plot.area.left + plot.area.width + 2 * SIZE;
  const height = lanes.length * LANE_HEIGHT;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  const { soft, rule, font } = theme.value;
  context.scale(ratio, ratio);
  context.font = font;
  context.textAlign = "right";
  context.textBaseline = "middle";
  lanes.forEach(({ label }, lane) => {
    const y = Math.round((lane + 0.5) * LANE_HEIGHT);
    context.fillStyle = soft;
    context.fillText(label, plot.area.left - 8, y);
    context.fillStyle = rule;
    context.fillRect(plot.area.left, y - 0.5, plot.area.width, 1);
  });
  for (const { x, y, marks: hidden } of placed) {
    drawMark(context, hidden[0]!.kind, x, y);
  }
}

/** Each kind has its own shape, so that no kind differs by its colour alone. */
function drawMark(context: CanvasRenderingContext2D, kind: MarkKind, x: number, y: number): void {
  const { hand, hook, soft, paper, lines } = theme.value;
  const colors: Readonly<Record<MarkKind, string>> = {
    hand,
    hook,
    request: hook,
    refused: hand,
    note: hand,
    checkpoint: soft,
    evaluation: lines[1]!,
    part: soft,
    error: lines[1]!,
    pause: hand,
  };
  context.fillStyle = colors[kind];
  context.strokeStyle = colors[kind];
  context.lineWidth = 1.25;
  context.beginPath();
  switch (kind) {
    case "hand":
    case "hook":
    case "refused":
      context.moveTo(x - SIZE, y + SIZE * 0.8);
      context.lineTo(x + SIZE, y + SIZE * 0.8);
      context.lineTo(x, y - SIZE);
      context.closePath();
      break;
    case "checkpoint":
      context.moveTo(x - SIZE * 0.8, y);
      context.lineTo(x, y - SIZE * 0.8);
      context.lineTo(x + SIZE * 0.8, y);
      context.lineTo(x, y + SIZE * 0.8);
      context.closePath();
      break;
    case "evaluation":
      context.rect(x - 0.75, y - SIZE * 0.75, 1.5, 1.5 * SIZE);
      break;
    case "part":
    case "pause":
      context.rect(x - 1.5, y - SIZE, 3, 2 * SIZE);
      break;
    case "error":
      context.moveTo(x - SIZE * 0.7, y - SIZE * 0.7);
      context.lineTo(x + SIZE * 0.7, y + SIZE * 0.7);
      context.moveTo(x + SIZE * 0.7, y - SIZE * 0.7);
      context.lineTo(x - SIZE * 0.7, y + SIZE * 0.7);
      context.stroke();
      return;
    default:
      context.arc(x, y, SIZE * 0.75, 0, 2 * Math.PI);
  }
  if (kind === "refused") {
    context.fillStyle = paper;
    context.fill();
    context.stroke();
  } else context.fill();
}

const MOST_LINES = 30;

/** Dashed lines through the curves where a person has changed something. */
export function drawHandLines(plot: Plot, marks: readonly Located[]): void {
  const ratio = devicePixelRatio;
  const { left, top, width, height } = plot.area;
  const positions = marks
    .filter(({ kind }) => kind === "hand")
    .flatMap(({ at }) => (at === undefined ? [] : [plot.position(at)]))
    .filter((x) => x >= 0 && x <= width);
  if (positions.length > MOST_LINES) return;
  const { context } = plot;
  context.save();
  context.strokeStyle = theme.value.hand;
  context.lineWidth = ratio;
  context.setLineDash([3 * ratio, 3 * ratio]);
  for (const x of positions) {
    context.beginPath();
    context.moveTo((left + x) * ratio, top * ratio);
    context.lineTo((left + x) * ratio, (top + height) * ratio);
    context.stroke();
  }
  context.restore();
}
