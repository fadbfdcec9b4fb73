// Parallel coordinates: an axis for each parameter and objective, and a line for each trial through its values.
import type { TrialInfo } from "../../core/outer-events.ts";
import { objectiveAxis, parameterAxis, type Axis } from "./axis.ts";
import { comparedValues, someOf, valueOf, type Facts } from "./facts.ts";
import { type Markup, PLOT_HEIGHT, html, lineOf, percent, stretched } from "./plot.ts";

interface Upright extends Axis {
  readonly title: string;
  /** Undefined where the trial has no value. */
  readonly valueOf: (trial: TrialInfo) => number | undefined;
}

const MOST_LINES = 300;
/** Pixels per axis. In less, the texts would overlap; a wider chart scrolls. */
const COLUMN = 110;
/** Where a line passes an axis whose parameter the trial does not have: below it. */
const ABSENT = -0.12;
const LONGEST = 16;

export function parallelChart(facts: Facts): Markup {
  const axes = [...parametersOf(facts), ...objectivesOf(facts)];
  const shown = someOf(facts.ranked, MOST_LINES);
  const x = (i: number): number => i / Math.max(1, axes.length - 1);
  const lines = shown.toReversed().map((trial) =>
    lineOf(
      facts,
      trial,
      axes.map((axis, i) => {
        const value = axis.valueOf(trial);
        return [x(i), value === undefined ? ABSENT : axis.place(value)] as const;
      }),
    ),
  );
  const uprights = axes.map((axis, i) => {
    const partial = shown.some((trial) => axis.valueOf(trial) === undefined);
    return upright(axis, i, percent(x(i)), partial);
  });
  const left = facts.ranked.length - shown.length;
  const note =
    left === 0
      ? undefined
      : html` ${shown.length} of ${facts.ranked.length} trials: the best ${MOST_LINES / 2}, and a selection of the
        others.`;
  return html`<div class="scroll">
      <div class="chart parallel" style="min-width:${axes.length * COLUMN}px">
        <svg
          class="plot"
          height="${PLOT_HEIGHT}"
          role="img"
          aria-label="Each trial as a line through its parameters and objectives"
        >
          ${stretched(lines)}${uprights}
        </svg>
      </div>
    </div>
    <p class="note">
      <span class="key"></span> worst to best; faint: ended early.<span class="scripted">
        Drag along an axis to choose a range, click it to choose all again.</span
      >${note}
    </p>`;
}

function upright({ title, ticks }: Axis & { readonly title: string }, i: number, x: string, partial: boolean): Markup {
  const label = (text: string, place: number): Markup =>
    html`<text x="${x}" dx="7" y="${Math.round(PLOT_HEIGHT * (1 - place))}" dy="4"
      >${shorten(text)}<title>${text}</title></text
    >`;
  const [, group, name] = /^(.*\.)?([^.]+)$/.exec(title) ?? [title, "", title];
  return html`<line class="upright" x1="${x}" x2="${x}" y1="0" y2="${PLOT_HEIGHT}" />
    <text x="${x}" y="-30" text-anchor="middle">${shorten(group)}</text
    ><text class="title" x="${x}" y="-16" text-anchor="middle">${shorten(name)}<title>${title}</title></text>
    ${ticks.map((tick) => label(tick.text, tick.at))}${partial ? label("–", ABSENT) : undefined}
    <rect class="range" x="${x}" y="0" width="14" height="0" transform="translate(-7)" /><rect
      class="brush"
      data-axis="${i}"
      x="${x}"
      y="-6"
      width="24"
      height="${PLOT_HEIGHT + 12}"
      transform="translate(-12)"
    />`;
}

const shorten = (text = ""): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

function parametersOf({ study: { space } }: Facts): Upright[] {
  return space.parameters.map((parameter) => {
    const { path, condition, index } = parameter;
    const twins = space.parameters.filter((other) => other.path === path).length > 1;
    return {
      ...parameterAxis(parameter),
      // Options may hold parameters of the same name.
      title: twins && condition ? `${path} (${condition.label})` : path,
      valueOf: ({ params }) => space.values(params)[index],
    };
  });
}

function objectivesOf({ study: { objectives }, ranked }: Facts): Upright[] {
  return objectives.map((objective) => {
    const axis = objectiveAxis(comparedValues(ranked, objective), objective);
    return { ...axis, title: objective.metric, valueOf: (trial) => valueOf(trial, objective) };
  });
}
