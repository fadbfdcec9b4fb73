// Several objectives: which results no other beats in all, and in which order results are worth looking at.
import { lossOf } from "./loss.ts";
import type { Objective, TrialRecord } from "./types.ts";

/** A loss for each objective: less is better. */
export type Losses = readonly number[];

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
