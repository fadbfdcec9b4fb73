// What schedulers share: losses at steps of a trial's reports, and checks of options.
import { lossOf } from "../ranking.ts";
import type { Objective, Report, StudyView, TrialRecord } from "../types.ts";
import { is, type Check } from "../../core/options.ts";

/** Schedulers compare trials by one objective. */
export const firstObjective = ({ objectives }: StudyView): Objective => objectives[0]!;

/** The first report at this step or later that has the objective; undefined if the trial has not reached it. */
export function reportReaching(trial: TrialRecord, step: number, objective: Objective): Report | undefined {
  return trial.reports.find((report) => report.step >= step && lossOf(report.values, objective) !== undefined);
}

/** The loss when the trial reached this step. */
export function lossWhenReaching(trial: TrialRecord, step: number, objective: Objective): number | undefined {
  return lossOf(reportReaching(trial, step, objective)?.values, objective);
}

/** The least loss up to and including this step; undefined if nothing was reported. */
export function leastLossUntil(trial: TrialRecord, step: number, objective: Objective): number | undefined {
  let least: number | undefined;
  for (const report of trial.reports) {
    const loss = report.step <= step ? lossOf(report.values, objective) : undefined;
    if (loss !== undefined && (least === undefined || loss < least)) least = loss;
  }
  return least;
}

/** The step of the report before this one, or 0. */
export function stepBefore(trial: TrialRecord, report: Report): number {
  let before = 0;
  for (const { step } of trial.reports) if (step < report.step) before = Math.max(before, step);
  return before;
}

/** By loss, then by number, so that the order of equals is fixed. */
export const compareLosses = (
  a: { readonly loss: number; readonly number: number },
  b: { readonly loss: number; readonly number: number },
): number => (a.loss === b.loss ? a.number - b.number : a.loss < b.loss ? -1 : 1);

/** Steps are whatever a trial reports, and may be fractions. */
export const isSteps: Check = {
  expected: "a finite number > 0",
  schema: { type: "number", exclusiveMinimum: 0 },
  test: (value) => is.positive.test(value) && Number.isFinite(value),
};

export const isFactor: Check = {
  expected: "a finite number ≥ 2",
  schema: { type: "number", minimum: 2 },
  test: (value) => Number.isFinite(value) && (value as number) >= 2,
};
