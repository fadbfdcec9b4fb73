// studyReport: a study as a page to read, in Markdown and as one HTML file that needs nothing else.
import type { TrialInfo } from "../../core/outer-events.ts";
import type { Space } from "../space/space.ts";
import type { Objective } from "../types.ts";
import { type Facts, factsOf, shortColumnsOf, summaryOf, trialList } from "./facts.ts";
import { htmlReport } from "./page.ts";
import { safeText } from "../../core/safe-text.ts";
import { importanceNote, importanceText } from "./importance-bars.ts";
import { rankNote } from "../ranking.ts";

/** What is reported on: a Study is one, and so is what its journal tells. */
export interface ReportedStudy {
  readonly name: string;
  readonly space: Space;
  readonly objectives: readonly Objective[];
  readonly trials: readonly TrialInfo[];
  /** Seconds that it has run. */
  readonly elapsed?: number;
  /** How it ended, and why: as `run()` returned it. */
  readonly status?: string;
  readonly reason?: string;
}

/** The report of a study, in Markdown and as a page. */
export interface StudyReport {
  readonly markdown: string;
  /** A whole file: charts and styles are in it, nothing is loaded. */
  readonly html: string;
}

/** @example writeFileSync("report.html", studyReport(study).html) */
export function studyReport(study: ReportedStudy): StudyReport {
  const facts = factsOf(study);
  return { markdown: markdownReport(facts), html: htmlReport(facts) };
}

// The report in Markdown: for a pull request, a wiki, or a terminal.

const BEST = 10;
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
  if (front.length > 0) parts.push("## Trials that no other beats", table(facts, front));
  if (ranked.length > 0) {
    const shown = ranked.slice(0, BEST);
    const note = rankNote(shown, study.objectives);
    parts.push("## Best trials", table(facts, shown), ...(note === undefined ? [] : [note]));
  }
  if (importance)
    parts.push("## What matters", fenced(importanceText(importance), ""), escape(importanceNote(importance)));
  if (failures.length > 0) {
    const lines = failures.map(({ message, trials }) => `- ${trialList(trials)}: ${escape(cut(message))}`);
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

/** What a trial is called or says is text: no markup, no link, and no end of the table's row. */
const escape = (text: string): string =>
  safeText(text.replace(/\s+/g, " ").replace(/[\\`*[\]<>|&~]|(?<!\w)_|_(?!\w)/g, (mark) => `\\${mark}`));

const cut = (message: string): string =>
  message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;

/** As it is, in a fence longer than any in it. */
function fenced(text: string, language: string): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${safeText(text)}\n${fence}`;
}
