// What a command says of a study: its trials, best first, and as data.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TrialInfo } from "../../core/outer-events.ts";
import { formatMetric } from "../../terminal/format-number.ts";
import { orderTrials, paretoFront, rankNote, rankTrials } from "../../tune/ranking.ts";
import type { Objective, ReportedStudy } from "../../tune/types.ts";
import { valueAtPath } from "../../tune/study-table.ts";
import { table } from "../table.ts";
import { moveDirectoryAside } from "../../runs/files.ts";
import { checkUnlocked } from "../../runs/lock.ts";
import { difference, newRecord, writeRecord } from "../../tune/sweep/check-sweep.ts";
import { readRecord } from "../../tune/sweep/sweep-record.ts";
import type { SweepDocument } from "../../tune/sweep/read-sweep.ts";
import { readStudy } from "../../tune/study-store.ts";
import { UsageError } from "../errors.ts";
import { say, typed } from "../output.ts";

/** The best completed trial; with several objectives, the first that no other beats in all of them. */
export function bestOf({ trials, objectives }: ReportedStudy): TrialInfo | undefined {
  const completed = trials.filter(({ status }) => status === "completed");
  const ranked = objectives.length > 1 ? paretoFront(completed, objectives) : rankTrials(completed, objectives);
  return ranked[0];
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

/** Writes the report into the study's directory; returns its paths. */
export async function writeReport(study: ReportedStudy, dir: string): Promise<{ markdown: string; html: string }> {
  const { studyReport } = await import("../../tune/report/study-report.ts");
  const report = studyReport(study);
  const files = { markdown: join(dir, "report.md"), html: join(dir, "report.html") };
  writeFileSync(files.markdown, report.markdown);
  writeFileSync(files.html, report.html);
  return files;
}

/** Whether every trial failed: then there is nothing to continue. */
export const allFailed = (trials: readonly Pick<TrialInfo, "status">[]): boolean =>
  trials.length > 0 && trials.every(({ status }) => status === "failed");

/** Moves a study aside as a whole. */
export function makeStudyRoom(dir: string): void {
  if (!existsSync(dir)) return;
  checkUnlocked(dir);
  say(`the study in ${dir} is in ${moveDirectoryAside(dir)} now`);
}

/** Records which experiment is swept. A resumed study must have the same one, or its trials could not be compared. */
export async function recordSweep(
  dir: string,
  sweep: SweepDocument,
  overrides: readonly string[],
  objectives: readonly Objective[],
): Promise<void> {
  if (!sweep.experiment) return;
  const names = objectives.map(({ metric }) => metric);
  const record = await newRecord(dir, sweep, overrides, names);
  const before = readRecord(dir);
  if (!before) return writeRecord(dir, record);
  const other = difference(before.experiment.raw, record.experiment.raw);
  if (other === undefined) return undefined;
  const where = `The study in ${dir} is over another experiment: \`${other.path}\` is ${other.before} there and ${other.now} here.`;
  const fresh = `\`${typed(`tune ${sweep.doc.file} --fresh`)}\` moves it aside and starts a new one`;
  throw new UsageError(
    allFailed(readStudy(dir)?.trials ?? [])
      ? `${where} All of its trials failed, so there is nothing to continue: ${fresh}.`
      : `${where} Continue with the same one, give this sweep another \`name\` or \`dir\`, or start over: ${fresh}.`,
  );
}
