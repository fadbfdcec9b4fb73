// Charts of an objective: over the trials, over the steps of each trial, and against another objective.
import type { TrialInfo } from "../../core/outer-events.ts";
import type { Objective } from "../types.ts";
import { linearAxis, objectiveAxis } from "./axis.ts";
import { comparedValues, someOf, stepOf, valueOf, type Facts } from "./facts.ts";
import { cornersOf, html, lineOf, markOf, percent, plot, PLOT_HEIGHT, pointAt, type Markup } from "./plot.ts";

/** More curves than these hide each other. */
const MOST_CURVES = 100;
/** A screen cannot show more corners than these. */
const MOST_CORNERS = 150;

/** The objective over the trials, in the order in which they were suggested, and the best so far. */
export function historyChart(facts: Facts, objective: Objective): Markup {
  const { trials } = facts;
  const y = objectiveAxis(comparedValues(trials, objective), objective);
  const x = linearAxis(-0.5, Math.max(1, trials.length - 0.5));
  const points = trials.map((trial) => {
    const value = valueOf(trial, objective);
    if (value !== undefined) return pointAt(facts, trial, x.place(trial.number), y.place(value));
    if (trial.status !== "failed") return undefined;
    return html`<text
      ${markOf(facts, trial)}
      x="${percent(x.place(trial.number))}"
      y="${PLOT_HEIGHT}"
      dy="4"
      text-anchor="middle"
      >×</text
    >`;
  });
  const has = (...statuses: readonly string[]): boolean => trials.some(({ status }) => statuses.includes(status));
  const early = has("pruned", "paused") ? " Faint ones ended early." : "";
  const isBeyond = (value: number | undefined): boolean => value !== undefined && !y.holds(value);
  const beyond = trials.some((trial) => isBeyond(valueOf(trial, objective))) ? " Those at the edge lie beyond it." : "";
  const failed = has("failed") ? " Those with × failed." : "";
  const best = bestSoFar(trials, objective);
  const corners = best.flatMap(([number, value], i) => {
    const until = best[i + 1]?.[0] ?? trials.length - 0.5;
    return [number, until].map((each) => [x.place(each), y.place(value)] as const);
  });
  const chart = plot({
    label: `${objective.metric} of each trial, and the best so far`,
    x,
    y,
    xTitle: "trial",
    lines: html`<polyline class="best" points="${cornersOf(corners)}" />`,
    points,
  });
  return html`${chart}
    <p class="note">The line is the best so far.${early}${beyond}${failed}</p>`;
}

/** The completed trials that were better than all before them. */
function bestSoFar(trials: readonly TrialInfo[], objective: Objective): readonly (readonly [number, number])[] {
  const steps: (readonly [number: number, value: number])[] = [];
  const sign = objective.mode === "min" ? 1 : -1;
  for (const trial of trials) {
    const value = trial.status === "completed" ? valueOf(trial, objective) : undefined;
    const last = steps.at(-1)?.[1] ?? sign * Infinity;
    if (value !== undefined && sign * value < sign * last) steps.push([trial.number, value]);
  }
  return steps;
}

/** Learning curves: an objective over the steps of each trial. Undefined where no trial has reported twice. */
export function curvesChart(facts: Facts, objective: Objective): Markup | undefined {
  const curves = facts.ranked
    .map((trial) => ({ trial, curve: curveOf(trial, objective) }))
    .filter(({ curve }) => curve.length > 1);
  if (curves.length === 0) return undefined;
  const shown = someOf(curves, MOST_CURVES);
  const values = shown.flatMap(({ curve }) => curve.map(([, value]) => value));
  const lastStep = shown.reduce((most, { trial }) => Math.max(most, stepOf(trial)), 0);
  const [x, y] = [linearAxis(0, lastStep), objectiveAxis(values, objective)];
  // The best last, so that they are on top.
  const lines = shown.toReversed().map(({ trial, curve }) =>
    lineOf(
      facts,
      trial,
      curve.map(([step, value]) => [x.place(step), y.place(value)]),
    ),
  );
  const chart = plot({ label: `${objective.metric} over the steps of each trial`, x, y, xTitle: "step", lines });
  if (shown.length === curves.length) return chart;
  return html`${chart}
    <p class="note">
      ${shown.length} of ${curves.length} trials: the best ${MOST_CURVES / 2}, and a selection of the others.
    </p>`;
}

function curveOf({ reports }: TrialInfo, { metric }: Objective): (readonly [number, number])[] {
  const curve = reports
    .map(({ step, values }) => [step, values[metric]] as const)
    .filter((corner): corner is readonly [number, number] => Number.isFinite(corner[1]));
  const every = Math.ceil(curve.length / MOST_CORNERS);
  return curve.filter((_, i) => i % every === 0 || i === curve.length - 1);
}

/** Two objectives against each other, with a ring around each trial that no other beats. */
export function frontChart(facts: Facts, across: Objective, up: Objective): Markup {
  const axisOf = (objective: Objective) => objectiveAxis(comparedValues(facts.ranked, objective), objective);
  const [x, y] = [axisOf(across), axisOf(up)];
  const onFront = new Set(facts.front.map(({ number }) => number));
  const points = facts.ranked.toReversed().map((trial) => {
    const [a, b] = [valueOf(trial, across), valueOf(trial, up)];
    if (a === undefined || b === undefined) return undefined;
    const ring = onFront.has(trial.number)
      ? html`<circle class="ring" cx="${percent(x.place(a))}" cy="${PLOT_HEIGHT * (1 - y.place(b))}" r="7" />`
      : undefined;
    return [ring, pointAt(facts, trial, x.place(a), y.place(b))];
  });
  return plot({ label: `${up.metric} against ${across.metric}`, x, y, xTitle: across.metric, points });
}
