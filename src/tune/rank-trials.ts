// All trials that can be compared, best first: for samplers that learn from them, and for what is said about parameters.
import { lossOf } from "./loss.ts";
import { paretoOrder, type Losses } from "./pareto.ts";
import type { Objective, Result, TrialRecord, TrialStatus } from "./types.ts";

/**
 * Completed trials come first, by what they reached; then pruned and paused ones, by how far they came and then by their
 * last report; last of all those with a value that is no number. Others are not in it.
 */
export function rankTrials(trials: readonly TrialRecord[], objectives: readonly Objective[]): readonly TrialRecord[] {
  const completed: Judged[] = [];
  const early: Judged[] = [];
  const broken: Judged[] = [];
  for (const trial of trials) {
    const { status } = trial;
    if (status !== "completed" && status !== "pruned" && status !== "paused") continue;
    const losses = lossesOf(trial, objectives);
    if (losses === undefined) continue;
    const kind = losses.includes(Infinity) ? broken : status === "completed" ? completed : early;
    kind.push({ trial, losses });
  }
  return [...inOrder(completed), ...byProgress(early), ...inOrder(broken)];
}

/** All trials as tables show them: completed, then ended early, then unfinished, then failed; each as they are ranked. */
export function orderTrials<T extends TrialRecord>(
  trials: readonly T[],
  objectives: readonly Objective[],
): readonly T[] {
  const ranked = rankTrials(trials, objectives) as readonly T[];
  return [...new Set([...ranked, ...trials])].toSorted((a, b) => GROUPS[a.status] - GROUPS[b.status]);
}

/** Says why a better value stands below a worse one, if these trials show such a pair. */
export function rankNote(trials: readonly TrialRecord[], objectives: readonly Objective[]): string | undefined {
  const completed = trials.filter(({ status }) => status === "completed");
  const early = trials.filter(({ status }) => status === "pruned" || status === "paused");
  const isBetter = (one: TrialRecord, other: TrialRecord): boolean => {
    const [a, b] = [lossesOf(one, objectives), lossesOf(other, objectives)];
    return a !== undefined && b !== undefined && a.every((loss, i) => loss < b[i]!);
  };
  if (!early.some((one) => completed.some((other) => isBetter(one, other)))) return undefined;
  return "Trials that completed come first. Pruned and paused ones follow, by how far they came: a value after fewer steps may look better, but does not compare.";
}

const GROUPS: Readonly<Record<TrialStatus, number>> = {
  completed: 0,
  pruned: 1,
  paused: 1,
  running: 2,
  interrupted: 2,
  waiting: 2,
  failed: 3,
};

interface Judged {
  readonly trial: TrialRecord;
  readonly losses: Losses;
}

/** Of the result, or of the last report that has all objectives. */
function lossesOf(trial: TrialRecord, objectives: readonly Objective[]): Losses | undefined {
  const lossesIn = (values: Result | undefined): Losses | undefined => {
    const losses = objectives.map((objective) => lossOf(values, objective));
    return losses.every((loss) => loss !== undefined) ? losses : undefined;
  };
  const found = lossesIn(trial.result);
  if (found) return found;
  const last = trial.reports.findLast(({ values }) => lossesIn(values));
  return lossesIn(last?.values);
}

function inOrder(judged: readonly Judged[]): TrialRecord[] {
  if (judged[0]?.losses.length === 1) {
    // Two at Infinity are equal, which their difference would not say.
    const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);
    return judged
      .toSorted((a, b) => compare(a.losses[0]!, b.losses[0]!) || a.trial.number - b.trial.number)
      .map(({ trial }) => trial);
  }
  return paretoOrder(judged.map(({ losses }) => losses)).map((i) => judged[i]!.trial);
}

function byProgress(judged: readonly Judged[]): TrialRecord[] {
  const byStep = new Map<number, Judged[]>();
  for (const one of judged) {
    const step = one.trial.reports.at(-1)?.step ?? 0;
    byStep.set(step, [...(byStep.get(step) ?? []), one]);
  }
  return [...byStep].toSorted(([a], [b]) => b - a).flatMap(([, group]) => inOrder(group));
}
