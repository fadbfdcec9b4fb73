// The objective over the trials, in the order in which they were suggested, and the best so far.
import type { TrialInfo } from "../../core/tune.types.ts";
import type { Objective } from "../types.ts";
import { linearAxis, objectiveAxis } from "./axis.ts";
import { comparedValues, valueOf, type Facts } from "./facts.ts";
import { html, type Markup } from "./html.ts";
import { cornersOf, markOf, percent, plot, PLOT_HEIGHT, pointAt } from "./plot.ts";

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

/** Where a completed trial was better than all before it. */
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
