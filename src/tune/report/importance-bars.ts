// The importance of each parameter as bars, in HTML and in plain text.
import type { Importance } from "../importance.ts";
import { html, type Markup } from "./plot.ts";

interface Bar {
  readonly name: string;
  readonly share: number;
  readonly together?: boolean;
}

const TEXT_WIDTH = 30;
/** Below this R², the shares are mostly chance. */
const LEAST_FIT = 0.2;

/** The most important first, and last what only several parameters explain together. */
function barsOf({ parameters, interactions }: Importance): readonly Bar[] {
  const twins = (path: string): boolean => parameters.filter(({ parameter }) => parameter.path === path).length > 1;
  return [
    ...parameters.map(({ parameter: { path, condition }, share }) => ({
      name: twins(path) && condition ? `${path} (${condition.label})` : path,
      share,
    })),
    { name: "interactions", share: interactions, together: true },
  ];
}

const percentOf = (share: number): string => `${Math.round(100 * share)} %`;

/** How much the shares can be trusted. */
export function importanceNote({ fit, trials }: Importance): string {
  const fitText = fit.toFixed(2);
  const method = `How much of the trials' ranking each parameter explains, from ${trials} trials by functional ANOVA.`;
  return fit < LEAST_FIT
    ? `${method} They say little yet: the model hardly predicts unseen trials (R² ${fitText}).`
    : `${method} The model predicts unseen trials with an R² of ${fitText}.`;
}

export function importanceBars(found: Importance): Markup {
  const rows = barsOf(found).map(
    ({ name, share, together }) =>
      html`<dt title="${name}">${name}</dt>
        <dd>
          <span class="bar${together ? " together" : ""}" style="width:${(100 * share).toFixed(1)}%"></span
          ><span class="share">${percentOf(share)}</span>
        </dd>`,
  );
  return html`<dl class="bars">${rows}</dl>
    <p class="note">${importanceNote(found)}</p>`;
}

/** For a monospaced font. */
export function importanceText(found: Importance): string {
  const bars = barsOf(found);
  const width = bars.reduce((most, { name }) => Math.max(most, name.length), 0);
  return bars
    .map(({ name, share }) => {
      const bar = "█".repeat(Math.round(TEXT_WIDTH * share)).padEnd(TEXT_WIDTH, "░");
      return `${name.padEnd(width)}  ${bar}  ${percentOf(share).padStart(5)}`;
    })
    .join("\n");
}
