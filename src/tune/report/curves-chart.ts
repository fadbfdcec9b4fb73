// Learning curves: an objective over the steps of each trial.
import type { Objective } from "../types.ts";
import { linearAxis, objectiveAxis } from "./axis.ts";
import { someOf, stepOf, type Facts } from "./facts.ts";
import { html, type Markup } from "./html.ts";
import { lineOf, plot } from "./plot.ts";

/** More than these, and one sees none of them. */
const MOST_CURVES = 100;
/** More than a screen can tell apart. */
const MOST_CORNERS = 150;

/** Undefined where no trial has reported twice. */
export function curvesChart(facts: Facts, objective: Objective): Markup | undefined {
  const curves = facts.ranked
    .map((trial) => ({ trial, curve: curveOf(trial.reports, objective) }))
    .filter(({ curve }) => curve.length > 1);
  if (curves.length === 0) return undefined;
  const shown = someOf(curves, MOST_CURVES);
  const y = objectiveAxis(
    shown.flatMap(({ curve }) => curve.map(([, value]) => value)),
    objective,
  );
  const x = linearAxis(
    0,
    shown.reduce((most, { trial }) => Math.max(most, stepOf(trial)), 0),
  );
  // The best last, so that they lie on top.
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

function curveOf(reports: Facts["trials"][number]["reports"], { metric }: Objective): (readonly [number, number])[] {
  const curve = reports
    .map(({ step, values }) => [step, values[metric]] as const)
    .filter((corner): corner is readonly [number, number] => Number.isFinite(corner[1]));
  const every = Math.ceil(curve.length / MOST_CORNERS);
  return curve.filter((_, i) => i % every === 0 || i === curve.length - 1);
}
