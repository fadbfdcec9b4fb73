// Trials as a table of a page; a script of the page sorts it by any column.
import type { TrialInfo } from "../../core/tune.types.ts";
import type { Column } from "./columns.ts";
import type { Facts } from "./facts.ts";
import { html, type Markup } from "./html.ts";
import { markOf } from "./plot.ts";

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
