// Two objectives against each other: the trials that no other beats, and the rest.
import type { Objective } from "../types.ts";
import { objectiveAxis } from "./axis.ts";
import { comparedValues, valueOf, type Facts } from "./facts.ts";
import { html, type Markup } from "./html.ts";
import { percent, plot, PLOT_HEIGHT, pointAt } from "./plot.ts";

export function frontChart(facts: Facts, across: Objective, up: Objective): Markup {
  const judged = facts.ranked.flatMap((trial) => {
    const [a, b] = [valueOf(trial, across), valueOf(trial, up)];
    return a === undefined || b === undefined ? [] : [{ trial, a, b }];
  });
  const [x, y] = [across, up].map((objective) => objectiveAxis(comparedValues(facts.ranked, objective), objective));
  const isFirst = new Set(facts.front.map(({ number }) => number));
  const points = judged.toReversed().map(({ trial, a, b }) => {
    const ring = isFirst.has(trial.number)
      ? html`<circle class="ring" cx="${percent(x!.place(a))}" cy="${PLOT_HEIGHT * (1 - y!.place(b))}" r="7" />`
      : undefined;
    return [ring, pointAt(facts, trial, x!.place(a), y!.place(b))];
  });
  return plot({ label: `${up.metric} against ${across.metric}`, x: x!, y: y!, xTitle: across.metric, points });
}
