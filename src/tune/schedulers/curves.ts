// What schedulers read from a trial's reports: its loss when it came to a step, and the least it had by then.
import { lossOf } from "../ranking.ts";
import type { Objective, Report, StudyView, TrialRecord } from "../types.ts";
import { is, type Check } from "../../core/options.ts";

/** What schedulers go by: they compare trials in one measure. */
export const firstObjective = ({ objectives }: StudyView): Objective => objectives[0]!;

/** The first report at this step or later that has the objective. Undefined: the trial has not come so far. */
export function reportReaching(trial: TrialRecord, step: number, objective: Objective): Report | undefined {
  return trial.reports.find((report) => report.step >= step && lossOf(report.values, objective) !== undefined);
}

/** The loss when the trial came to this step. */
export function lossWhenReaching(trial: TrialRecord, step: number, objective: Objective): number | undefined {
  return lossOf(reportReaching(trial, step, objective)?.values, objective);
}

/** The least loss up to and including this step. Undefined: nothing was reported. */
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

/** By loss, then by number, so that equals keep one order. */
export const compareLosses = (
  a: { readonly loss: number; readonly number: number },
  b: { readonly loss: number; readonly number: number },
): number => (a.loss === b.loss ? a.number - b.number : a.loss < b.loss ? -1 : 1);

// Checks that schedulers share.

/** Steps are whatever a trial reports: whole numbers of epochs, or fractions. */
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
