// The box of a chart: two axes with their ticks, and what is drawn between them. It is as wide as there is room: x is in
// shares of the width and y in pixels, so that texts and points keep their size on any screen.
import type { TrialInfo } from "../../core/outer-events.ts";
import type { Axis } from "./axis.ts";
import type { Facts } from "./facts.ts";
import { safeText } from "../../core/safe-text.ts";

export interface Plot {
  /** Read aloud in place of the picture. */
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly xTitle: string;
  /** Points, by `pointAt`. */
  readonly points?: Piece;
  /** Lines, by `lineOf`; beneath the points. */
  readonly lines?: Piece;
}

export const PLOT_HEIGHT = 220;
/** The width in units that lines are drawn in. */
const WIDTH = 1000;

export const percent = (share: number): string => `${at(100 * share)}%`;
const down = (place: number): string => at(PLOT_HEIGHT * (1 - place));

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
      ${stretched(PLOT_HEIGHT, lines)}${points}
    </svg>
  </div>`;
}

/** What lines are drawn in: as wide as the chart, whatever that is. */
export const stretched = (height: number, lines: Piece): Markup =>
  html`<svg class="lines" width="100%" height="${height}" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none">
    ${lines}
  </svg>`;

/** The corners of a line, for `points`. */
export const cornersOf = (places: readonly (readonly [x: number, y: number])[]): string =>
  places.map(([x, y]) => `${at(WIDTH * x)},${at(PLOT_HEIGHT * (1 - y))}`).join(" ");

/** Attributes by which a mark has its trial's colour, and is found by who looks for the trial. */
export function markOf(facts: Facts, trial: TrialInfo): Markup {
  const place = facts.place(trial);
  const share = place === undefined ? 0 : Math.round(100 * (1 - place));
  return html`class="mark ${trial.status}" data-trial="${trial.number}" style="--good:${share}%"`;
}

export const pointAt = (facts: Facts, trial: TrialInfo, x: number, y: number): Markup =>
  html`<circle ${markOf(facts, trial)} cx="${percent(x)}" cy="${down(y)}" r="4" />`;

export const lineOf = (facts: Facts, trial: TrialInfo, places: readonly (readonly [number, number])[]): Markup =>
  html`<polyline ${markOf(facts, trial)} points="${cornersOf(places)}" />`;

// HTML that cannot be broken out of: what is put into a template is escaped, unless it came from one.

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

/** @example html`<td>${trial.reason}</td>` // whatever the reason holds is text */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  // The lines are the source's: a page of a thousand trials needs no indentation.
  const parts = strings.map((string) => string.replace(/\s*\n\s*/g, " "));
  return new Markup(parts.map((part, i) => (i === 0 ? part : textOf(pieces[i - 1]) + part)).join(""));
}

/** A coordinate: a tenth of a pixel, or of a thousandth of the width, is all that shows. */
export const at = (coordinate: number): string => String(Math.round(coordinate * 10) / 10);
