// What a command says of a study: its trials, best first, and as data.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TrialInfo } from "../../core/outer-events.ts";
import { formatMetric } from "../../terminal/format-number.ts";
import { orderTrials, paretoFront, rankNote, rankTrials } from "../../tune/ranking.ts";
import type { ReportedStudy } from "../../tune/types.ts";
import { valueAtPath } from "../../tune/study-table.ts";
import { table } from "./table.ts";

/** The best completed trial; with several objectives, the first that no other beats in all of them. */
export function bestOf({ trials, objectives }: ReportedStudy): TrialInfo | undefined {
  const completed = trials.filter(({ status }) => status === "completed");
  const ranked = objectives.length > 1 ? paretoFront(completed, objectives) : rankTrials(completed, objectives);
  return ranked[0] as TrialInfo | undefined;
}

/** `val/loss 0.02, optimizer.lr 0.01`. */
export function describeTrial({ objectives, space }: ReportedStudy, trial: TrialInfo): string {
  const paths = [...new Set(space.parameters.map(({ path }) => path))];
  return [
    ...objectives.map(({ metric }) => `${metric} ${metricText(trial, metric)}`),
    ...paths.flatMap((path) => {
      const value = valueAtPath(trial, path, space.parameters);
      return value === "" ? [] : [`${path} ${value}`];
    }),
  ].join(", ");
}

function metricText({ result }: TrialInfo, metric: string): string {
  const value = result?.[metric];
  return value === undefined ? "" : formatMetric(metric, value);
}

/** The trials as a table, best first; at most so many. */
export function trialsTable({ trials, objectives, space }: ReportedStudy, most = Infinity): string {
  const all = orderTrials(trials, objectives);
  const paths = [...new Set(space.parameters.map(({ path }) => path))];
  const head = [
    " trial",
    "status",
    " step",
    ...objectives.map(({ metric }) => ` ${metric}`),
    ...paths.map((p) => ` ${p}`),
  ];
  const shown = all.slice(0, most);
  const rows = shown.map((trial) => [
    String(trial.number),
    trial.status,
    String(trial.reports.at(-1)?.step ?? ""),
    ...objectives.map(({ metric }) => metricText(trial, metric)),
    ...paths.map((path) => valueAtPath(trial, path, space.parameters)),
  ]);
  const hidden = all.length - rows.length;
  const note = rankNote(shown, objectives);
  const notes = [...(hidden > 0 ? [`and ${hidden} more`] : []), ...(note === undefined ? [] : [note])];
  // The number, the status and the first objective stay.
  const narrow = { leaveOut: [" step", ...head.slice(4).toReversed()] };
  return [table(head, rows, narrow), ...notes].join("\n");
}

/** For `--json`: all but the curves, which the journal has. */
export function studyData(study: ReportedStudy, dir: string): object {
  const { name, objectives, trials, elapsed, status, reason } = study;
  const dataOf = ({ reports, ...trial }: TrialInfo): object => ({ ...trial, step: reports.at(-1)?.step ?? null });
  const best = bestOf(study);
  return {
    name,
    dir,
    status,
    reason,
    objectives,
    elapsed,
    best: best ? dataOf(best) : null,
    trials: trials.map(dataOf),
  };
}

/** Writes the report into the study's directory; where it is. */
export async function writeReport(study: ReportedStudy, dir: string): Promise<{ markdown: string; html: string }> {
  const { studyReport } = await import("../../tune/report/study-report.ts");
  const report = studyReport(study);
  const files = { markdown: join(dir, "report.md"), html: join(dir, "report.html") };
  writeFileSync(files.markdown, report.markdown);
  writeFileSync(files.html, report.html);
  return files;
}
