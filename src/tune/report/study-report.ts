// studyReport: a study as Markdown, and as one HTML file (page.ts) that needs nothing else.
import { safeText } from "../../core/safe-text.ts";
import type { TrialInfo } from "../../core/outer-events.ts";
import { rankNote } from "../ranking.ts";
import type { ReportedStudy } from "../types.ts";
import { BEST, factsOf, shortColumnsOf, summaryOf, trialList, type Facts } from "./facts.ts";
import { importanceNote, importanceText } from "./importance-bars.ts";
import { htmlReport } from "./page.ts";

/** The report of a study, in Markdown and as a page. */
export interface StudyReport {
  readonly markdown: string;
  /** A self-contained file: charts and styles are in it, nothing is loaded. */
  readonly html: string;
}

/** @example writeFileSync("report.html", studyReport(study).html) */
export function studyReport(study: ReportedStudy): StudyReport {
  const facts = factsOf(study);
  return { markdown: markdownReport(facts), html: htmlReport(facts) };
}

const LONGEST_MESSAGE = 300;

function markdownReport(facts: Facts): string {
  const { study, ranked, front, best, importance, failures } = facts;
  const parts = [
    `# ${escape(study.name)}`,
    summaryOf(facts)
      .map(({ title, text }) => `- **${escape(title)}**: ${escape(text)}`)
      .join("\n"),
  ];
  if (best) parts.push("## Best parameters", fenced(JSON.stringify(best.params, undefined, 2), "json"));
  if (front.length > 0) parts.push("## Pareto front", table(facts, front));
  if (ranked.length > 0) {
    const shown = ranked.slice(0, BEST);
    const note = rankNote(shown, study.objectives);
    parts.push("## Best trials", table(facts, shown), ...(note === undefined ? [] : [note]));
  }
  if (importance)
    parts.push("## Parameter importance", fenced(importanceText(importance), ""), escape(importanceNote(importance)));
  if (failures.length > 0) {
    const lines = failures.map(({ message, trials }) => `- ${trialList(trials)}: ${escape(shorten(message))}`);
    parts.push("## Failures", lines.join("\n"));
  }
  return `${parts.join("\n\n")}\n`;
}

function table(facts: Facts, trials: readonly TrialInfo[]): string {
  const columns = shortColumnsOf(facts, trials);
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(columns.map(({ title }) => escape(title))),
    line(columns.map(({ kind }) => (kind === "number" ? "---:" : "---"))),
    ...trials.map((trial) => line(columns.map((column) => escape(column.text(trial))))),
  ].join("\n");
}

/** Names and messages of trials are text: no markup, no link, and no end of the table's row. */
const escape = (text: string): string =>
  safeText(text.replace(/\s+/g, " ").replace(/[\\`*[\]<>|&~]|(?<!\w)_|_(?!\w)/g, (mark) => `\\${mark}`));

const shorten = (message: string): string =>
  message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;

/** Verbatim, in a fence longer than any in the text. */
function fenced(text: string, language: string): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${safeText(text)}\n${fence}`;
}
