// Which trials are better: by one objective, or by several (Pareto fronts). Samplers learn from this order, and tables
// and reports show it.
import type { Objective, Result, TrialRecord, TrialStatus } from "./types.ts";

/** A loss for each objective: less is better. */
type Losses = readonly number[];

interface Judged<T> {
  readonly trial: T;
  readonly losses: Losses;
}

/**
 * The value of an objective as a loss, whatever its mode. Undefined where it was not reported; a value that is not
 * finite is worse than all others.
 */
export function lossOf(result: Result | undefined, { metric, mode }: Objective): number | undefined {
  const value = result?.[metric];
  if (value === undefined) return undefined;
  if (!Number.isFinite(value)) return Infinity;
  return mode === "min" ? value : -value;
}

/**
 * Trials that can be compared, best first. Completed trials come first, by their result; then pruned and paused ones,
 * by how far they came and then by their last report; then those with a value that is not finite.
 */
export function rankTrials<T extends TrialRecord>(trials: readonly T[], objectives: readonly Objective[]): T[] {
  const completed: Judged<T>[] = [];
  const early: Judged<T>[] = [];
  const broken: Judged<T>[] = [];
  for (const trial of trials) {
    const { status } = trial;
    if (status !== "completed" && status !== "pruned" && status !== "paused") continue;
    const losses = lossesOf(trial, objectives);
    if (losses === undefined) continue;
    const group = losses.includes(Infinity) ? broken : status === "completed" ? completed : early;
    group.push({ trial, losses });
  }
  return [...inOrder(completed), ...byProgress(early), ...inOrder(broken)];
}

const TABLE_ORDER: Readonly<Record<TrialStatus, number>> = {
  completed: 0,
  pruned: 1,
  paused: 1,
  running: 2,
  interrupted: 2,
  waiting: 2,
  failed: 3,
};

/** All trials in the order of a table: completed, ended early, unfinished, failed; ranked within each group. */
export function orderTrials<T extends TrialRecord>(trials: readonly T[], objectives: readonly Objective[]): T[] {
  const all = [...new Set([...rankTrials(trials, objectives), ...trials])];
  return all.sort((a, b) => TABLE_ORDER[a.status] - TABLE_ORDER[b.status]);
}

/** Explains why a better value is listed below a worse one, if these trials include such a pair. */
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

/**
 * The completed trials that no other completed one dominates, by number. With one objective, the best one, or several
 * that are equally good.
 */
export function paretoFront<T extends TrialRecord>(trials: readonly T[], objectives: readonly Objective[]): T[] {
  const judged = trials
    .filter(({ status }) => status === "completed")
    .map((trial) => ({ trial, losses: objectives.map((objective) => lossOf(trial.result, objective) ?? Infinity) }))
    .filter(({ losses }) => losses.every(Number.isFinite));
  return judged
    .filter(({ losses }) => !judged.some((other) => dominates(other.losses, losses)))
    .map(({ trial }) => trial)
    .sort((a, b) => a.number - b.number);
}

/** As good in every objective, and better in one. */
export function dominates(a: Losses, b: Losses): boolean {
  return a.every((loss, i) => loss <= b[i]!) && a.some((loss, i) => loss < b[i]!);
}

/** Indices of the points, best first: by front (non-dominated sorting), and within a front those in sparse regions first. */
export function paretoOrder(points: readonly Losses[]): readonly number[] {
  const order: number[] = [];
  let rest = points.map((_, i) => i);
  while (rest.length > 0) {
    const front = rest.filter((i) => !rest.some((j) => dominates(points[j]!, points[i]!)));
    const distances = crowdingDistances(front.map((i) => points[i]!));
    const distanceOf = new Map(front.map((i, k) => [i, distances[k]!]));
    order.push(...front.toSorted((a, b) => compare(distanceOf.get(b)!, distanceOf.get(a)!) || a - b));
    rest = rest.filter((i) => !distanceOf.has(i));
  }
  return order;
}

/** Not by subtraction: the difference of two infinities is NaN. */
const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** NSGA-II's crowding distance: how far apart a point's neighbours are, summed over objectives; infinite at the ends. */
function crowdingDistances(front: readonly Losses[]): number[] {
  const distances = front.map(() => 0);
  for (let objective = 0; objective < (front[0]?.length ?? 0); objective++) {
    const at = (i: number): number => front[i]![objective]!;
    const sorted = front.map((_, i) => i).sort((a, b) => compare(at(a), at(b)) || a - b);
    const width = at(sorted.at(-1)!) - at(sorted[0]!);
    for (const [k, i] of sorted.entries()) {
      const [before, after] = [sorted[k - 1], sorted[k + 1]];
      if (before === undefined || after === undefined) distances[i] = Infinity;
      else if (width > 0 && Number.isFinite(width)) distances[i]! += (at(after) - at(before)) / width;
    }
  }
  return distances;
}

/** Of the result, or of the last report that has all objectives. */
function lossesOf(trial: TrialRecord, objectives: readonly Objective[]): Losses | undefined {
  const lossesIn = (values: Result | undefined): Losses | undefined => {
    const losses = objectives.map((objective) => lossOf(values, objective));
    return losses.every((loss) => loss !== undefined) ? losses : undefined;
  };
  return lossesIn(trial.result) ?? lossesIn(trial.reports.findLast(({ values }) => lossesIn(values))?.values);
}

function inOrder<T extends TrialRecord>(judged: readonly Judged<T>[]): T[] {
  if (judged[0]?.losses.length !== 1)
    return paretoOrder(judged.map(({ losses }) => losses)).map((i) => judged[i]!.trial);
  return judged
    .toSorted((a, b) => compare(a.losses[0]!, b.losses[0]!) || a.trial.number - b.trial.number)
    .map(({ trial }) => trial);
}

function byProgress<T extends TrialRecord>(judged: readonly Judged<T>[]): T[] {
  const byStep = new Map<number, Judged<T>[]>();
  for (const one of judged) {
    const step = one.trial.reports.at(-1)?.step ?? 0;
    byStep.set(step, [...(byStep.get(step) ?? []), one]);
  }
  return [...byStep].toSorted(([a], [b]) => b - a).flatMap(([, group]) => inOrder(group));
}
