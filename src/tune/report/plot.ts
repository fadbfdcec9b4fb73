// HTML that is escaped, and the frame of a chart: two axes with their ticks, and what is drawn between them. A chart
// fills the width: x is a share of it and y is in pixels, so that texts and points keep their size on any screen.
import { safeText } from "../../core/safe-text.ts";
import type { TrialInfo } from "../../core/outer-events.ts";
import type { Axis } from "./axis.ts";
import type { Facts } from "./facts.ts";

/** Text that is markup already. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Markup | string | number | undefined | readonly Piece[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function textOf(piece: Piece): string {
  if (piece === undefined) return "";
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "object") return piece.map(textOf).join("");
  return safeText(String(piece)).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** @example html`<td>${trial.reason}</td>` // whatever the reason holds is escaped */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  // Drops the indentation of the source: a page may have a thousand trials.
  const parts = strings.map((string) => string.replace(/\s*\n\s*/g, " "));
  return new Markup(parts.map((part, i) => (i === 0 ? part : textOf(pieces[i - 1]) + part)).join(""));
}

/** A coordinate, rounded to a tenth of a pixel. */
export const at = (coordinate: number): string => String(Math.round(coordinate * 10) / 10);

export interface Plot {
  /** For screen readers. */
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly xTitle: string;
  /** Made by `pointAt`. */
  readonly points?: Piece;
  /** Made by `lineOf`; drawn beneath the points. */
  readonly lines?: Piece;
}

export const PLOT_HEIGHT = 220;
/** The width of a chart in the units that lines are drawn in. */
const WIDTH = 1000;

export const percent = (share: number): string => `${at(100 * share)}%`;
const down = (share: number): string => at(PLOT_HEIGHT * (1 - share));

export function plot({ label, x, y, xTitle, points, lines }: Plot): Markup {
  const rows = y.ticks.map(
    (tick) =>
      html`<line class="rule" x1="0" x2="100%" y1="${down(tick.at)}" y2="${down(tick.at)}" /><text
          x="0"
          dx="-8"
          y="${down(tick.at)}"
          dy="4"
          text-anchor="end"
          >${tick.text}</text
        >`,
  );
  const columns = x.ticks.map(
    (tick) => html`<text x="${percent(tick.at)}" y="${PLOT_HEIGHT + 18}" text-anchor="middle">${tick.text}</text>`,
  );
  return html`<div class="chart">
    <svg class="plot" height="${PLOT_HEIGHT}" role="img" aria-label="${label}">
      ${rows}${columns}
      <text class="title" x="100%" y="${PLOT_HEIGHT + 36}" text-anchor="end">${xTitle}</text>
      ${stretched(lines)}${points}
    </svg>
  </div>`;
}

/** Scales lines to the width of the chart. */
export const stretched = (lines: Piece): Markup =>
  html`<svg
    class="lines"
    width="100%"
    height="${PLOT_HEIGHT}"
    viewBox="0 0 ${WIDTH} ${PLOT_HEIGHT}"
    preserveAspectRatio="none"
  >
    ${lines}
  </svg>`;

/** The `points` of a polyline. */
export const cornersOf = (places: readonly (readonly [x: number, y: number])[]): string =>
  places.map(([x, y]) => `${at(WIDTH * x)},${at(PLOT_HEIGHT * (1 - y))}`).join(" ");

/** The attributes that give a mark its trial's colour, and by which the page's script finds the trial. */
export function markOf(facts: Facts, trial: TrialInfo): Markup {
  const rank = facts.rank(trial);
  const share = rank === undefined ? 0 : Math.round(100 * (1 - rank));
  return html`class="mark ${trial.status}" data-trial="${trial.number}" style="--good:${share}%"`;
}

export const pointAt = (facts: Facts, trial: TrialInfo, x: number, y: number): Markup =>
  html`<circle ${markOf(facts, trial)} cx="${percent(x)}" cy="${down(y)}" r="4" />`;

export const lineOf = (facts: Facts, trial: TrialInfo, places: readonly (readonly [number, number])[]): Markup =>
  html`<polyline ${markOf(facts, trial)} points="${cornersOf(places)}" />`;
