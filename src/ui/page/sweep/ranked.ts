// Trials by their first objective.
import type { StudyPage, TrialRow } from "../../wire.ts";

/** Those that have a value, best first. */
export function ranked({ trials, objectives: [objective] }: StudyPage): TrialRow[] {
  const { metric, mode } = objective!;
  const sign = mode === "min" ? 1 : -1;
  return trials
    .filter(({ result }) => Number.isFinite(result[metric]))
    .sort((a, b) => sign * (a.result[metric]! - b.result[metric]!));
}
