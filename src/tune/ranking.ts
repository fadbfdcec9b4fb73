import type { Objective, Result, TrialRecord, TrialStatus } from "./types.ts";

// One orientation for all that compares trials: a loss, of which less is better, whatever the objective's mode.

/**
 * The value of an objective as a loss. Undefined where it was not reported; what is no finite number is worse than
 * anything that is.
 */
export function lossOf(result: Result | undefined, { metric, mode }: Objective): number | undefined {
  const value = result?.[metric];
  if (value === undefined) return undefined;
  if (!Number.isFinite(value)) return Infinity;
  return mode === "min" ? value : -value;
}

// Several objectives: which results no other beats in all, and in which order results are worth looking at.

/** A loss for each objective: less is better. */
type Losses = readonly number[];

/** As good in everything, and better in something. */
export function dominates(a: Losses, b: Losses): boolean {
  return a.every((loss, i) => loss <= b[i]!) && a.some((loss, i) => loss < b[i]!);
}

/**
 * The completed trials that no other completed one dominates, by number. With one objective, the best (several, if they
 * are equally good).
 */
export function paretoFront(trials: readonly TrialRecord[], objectives: readonly Objective[]): readonly TrialRecord[] {
  const judged = trials
    .filter(({ status }) => status === "completed")
    .map((trial) => ({ trial, losses: objectives.map((objective) => lossOf(trial.result, objective) ?? Infinity) }))
    .filter(({ losses }) => losses.every(Number.isFinite));
  return judged
    .filter(({ losses }) => !judged.some((other) => dominates(other.losses, losses)))
    .map(({ trial }) => trial)
    .sort((a, b) => a.number - b.number);
}

/** Places of the points, best first: by front (non-dominated sorting), and within a front those in sparse regions first. */
export function paretoOrder(points: readonly Losses[]): readonly number[] {
  const order: number[] = [];
  let rest = points.map((_, i) => i);
  while (rest.length > 0) {
    const front = rest.filter((i) => !rest.some((j) => dominates(points[j]!, points[i]!)));
    const sparsity = sparsityOf(front.map((i) => points[i]!));
    const byPlace = new Map(front.map((i, k) => [i, sparsity[k]!]));
    // Not by subtraction: the ends are at Infinity, and the difference of two is no number.
    order.push(
      ...front.toSorted((a, b) =>
        byPlace.get(a) === byPlace.get(b) ? a - b : byPlace.get(a)! < byPlace.get(b)! ? 1 : -1,
      ),
    );
    rest = rest.filter((i) => !byPlace.has(i));
  }
  return order;
}

/** The crowding distance of NSGA-II: how far apart a point's neighbours are, summed over objectives; the ends stand alone. */
function sparsityOf(front: readonly Losses[]): number[] {
  const sparsity = front.map(() => 0);
  for (let objective = 0; objective < (front[0]?.length ?? 0); objective++) {
    const at = (place: number): number => front[place]![objective]!;
    const sorted = front.map((_, i) => i).sort((a, b) => (at(a) < at(b) ? -1 : at(a) > at(b) ? 1 : a - b));
    const width = at(sorted.at(-1)!) - at(sorted[0]!);
    for (const [k, i] of sorted.entries()) {
      const [before, after] = [sorted[k - 1], sorted[k + 1]];
      if (before === undefined || after === undefined) sparsity[i] = Infinity;
      else if (width > 0 && Number.isFinite(width)) sparsity[i]! += (at(after) - at(before)) / width;
    }
  }
  return sparsity;
}

// All trials that can be compared, best first: for samplers that learn from them, and for what is said about parameters.

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
