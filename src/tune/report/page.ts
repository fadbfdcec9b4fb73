// The report as one HTML file. It loads nothing, and is complete without its script.
import type { TrialInfo } from "../../core/outer-events.ts";
import { rankNote } from "../ranking.ts";
import { BEST, type Column, type Facts, columnsOf, shortColumnsOf, summaryOf, trialList } from "./facts.ts";
import { curvesChart, frontChart, historyChart } from "./charts.ts";
import { Markup, type Piece, html, markOf } from "./plot.ts";
import { importanceBars } from "./importance-bars.ts";
import { parallelChart } from "./parallel-chart.ts";
import { SCRIPT, SCRIPT_HASH, STYLE } from "./page-assets.ts";

/** Allows only this script, so that a value that got past the escaping would still do nothing. */
const POLICY = `default-src 'none'; style-src 'unsafe-inline'; script-src '${SCRIPT_HASH}'; base-uri 'none'; form-action 'none'`;

export function htmlReport(facts: Facts): string {
  const { study, all } = facts;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${POLICY}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${study.name}</title>
        ${new Markup(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <header>
          <h1>${study.name}</h1>
          ${summary(facts)}
        </header>
        <main>
          ${bestTrials(facts)}${charts(facts)}${failures(facts)}
          ${section("All trials", "whole", trialsTable(facts, columnsOf(facts), all))}
        </main>
        <div class="tip" hidden></div>
        ${new Markup(`<script>${SCRIPT}</script>`)}
      </body>
    </html> `;
  return page.text;
}

const section = (title: string, kind: "half" | "whole", ...content: readonly Piece[]): Markup =>
  html`<section class="${kind}">
    <h2>${title}</h2>
    ${content}
  </section> `;

const summary = (facts: Facts): Markup =>
  html`<dl class="summary">
    ${summaryOf(facts).map(
      ({ title, text }) =>
        html`<div>
          <dt>${title}</dt>
          <dd>${text}</dd>
        </div>`,
    )}
  </dl>`;

function bestTrials(facts: Facts): Piece {
  const { ranked, front, best, study } = facts;
  const shown = ranked.slice(0, BEST);
  const note = rankNote(shown, study.objectives);
  const table = (trials: readonly TrialInfo[]): Markup => trialsTable(facts, shortColumnsOf(facts, trials), trials);
  return [
    best && section("Best parameters", "whole", html`<pre>${JSON.stringify(best.params, undefined, 2)}</pre>`),
    front.length > 0 ? section("Pareto front", "whole", table(front)) : undefined,
    shown.length > 0 ? section("Best trials", "whole", table(shown), note && html`<p>${note}</p>`) : undefined,
  ];
}

function charts(facts: Facts): Piece {
  const { ranked, importance, study } = facts;
  const { objectives } = study;
  if (ranked.length === 0) return undefined;
  const [first, ...others] = objectives;
  return [
    objectives.map((objective) => section(`${objective.metric} over trials`, "half", historyChart(facts, objective))),
    importance && section("Parameter importance", "half", importanceBars(importance)),
    others.map((other) =>
      section(`${other.metric} against ${first!.metric}`, "half", frontChart(facts, first!, other)),
    ),
    section("Parameters and results", "whole", parallelChart(facts)),
    objectives.map((objective) => {
      const chart = curvesChart(facts, objective);
      return chart && section(`Learning curves: ${objective.metric}`, "whole", chart);
    }),
  ];
}

function failures({ failures: all }: Facts): Piece {
  if (all.length === 0) return undefined;
  const items = all.map(
    ({ message, trials }) =>
      html`<li>
        ${trialList(trials)}
        <pre>${message}</pre>
      </li>`,
  );
  return section(
    "Failures",
    "whole",
    html`<ul class="failures">
      ${items}
    </ul>`,
  );
}

/** The page's script sorts it by any column. */
export function trialsTable(facts: Facts, columns: readonly Column[], trials: readonly TrialInfo[]): Markup {
  const head = columns.map(({ title, kind }) => html`<th scope="col" class="${kind}"><button>${title}</button></th>`);
  const rows = trials.map((trial) => {
    const cells = columns.map((column) => {
      const text = column.text(trial);
      return column.kind === "long"
        ? html`<td class="long"><div title="${text}">${text}</div></td>`
        : html`<td class="${column.kind}">${text}</td>`;
    });
    return html`<tr ${markOf(facts, trial)}>
      ${cells}
    </tr> `;
  });
  return html`<div class="scroll table">
    <table>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}
