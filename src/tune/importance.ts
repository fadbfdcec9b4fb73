// The importance of each parameter: functional ANOVA on a random forest (Hutter et al. 2014). The forest learns the
// ranks of the trials, and its variance over the whole space is attributed to the parameters.
//
// Ranks instead of values, so that a few diverged trials do not dominate, a loss and its logarithm give the same result,
// and trials that ended early have a rank too. A parameter's share is what it explains on its own, averaged over the
// others; what only several explain together is left over as `interactions`.
import { Rng } from "../data/random.ts";
import { rankTrials } from "./ranking.ts";
import type { SpaceParameter } from "./space/compile.ts";
import type { Space } from "./space/space.ts";
import type { Objective, TrialRecord } from "./types.ts";

export interface Importance {
  /** Each parameter's share of the variance, from 0 to 1, most important first. */
  readonly parameters: readonly { readonly parameter: SpaceParameter; readonly share: number }[];
  /** The share that no parameter explains on its own. */
  readonly interactions: number;
  /**
   * How well the forest predicts trials that it was not grown from: 1 perfectly, 0 not at all. Near 0, the shares mean
   * nothing.
   */
  readonly fit: number;
  /** How many trials it learned from. */
  readonly trials: number;
}

const LEAST_TRIALS = 8;
const TREES = 64;

/** Undefined where fewer than 8 trials can be compared. */
export function importance(
  space: Space,
  trials: readonly TrialRecord[],
  objectives: readonly Objective[],
): Importance | undefined {
  const ranked = rankTrials(trials, objectives);
  if (ranked.length < LEAST_TRIALS) return undefined;
  const rng = new Rng(ranked.length);
  // A parameter that the trial does not have makes no difference, so its coordinate is random.
  const rows = ranked.map(({ params }) => Float64Array.from(space.toUnit(params), (unit) => unit ?? rng.next()));
  const places = Float64Array.from(ranked, (_, place) => place / (ranked.length - 1));
  const forest = growForest(rows, places, TREES);
  const shares = space.parameters.map((_, d) => mean(forest.map((tree) => mainEffect(tree, d))));
  return {
    parameters: space.parameters
      .map((parameter, d) => ({ parameter, share: shares[d]! }))
      .sort((a, b) => b.share - a.share),
    interactions: Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0)),
    fit: fitOf(forest, rows, places),
    trials: ranked.length,
  };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The share of a tree's variance that one dimension explains on its own. */
function mainEffect({ leaves }: Tree, dimension: number): number {
  let [average, square] = [0, 0];
  // Averaged over the other dimensions, the prediction changes only at the edges of boxes.
  const steps = new Map<number, number>();
  for (const { from, to, value } of leaves) {
    const width = to[dimension]! - from[dimension]!;
    const volume = from.reduce((product, low, d) => product * (to[d]! - low), 1);
    average += value * volume;
    square += value * value * volume;
    const part = (value * volume) / width;
    steps.set(from[dimension]!, (steps.get(from[dimension]!) ?? 0) + part);
    steps.set(to[dimension]!, (steps.get(to[dimension]!) ?? 0) - part);
  }
  const variance = square - average * average;
  if (variance < 1e-12) return 0;
  let [explained, level, last] = [0, 0, 0];
  for (const [edge, change] of [...steps].toSorted(([a], [b]) => a - b)) {
    explained += (edge - last) * (level - average) ** 2;
    level += change;
    last = edge;
  }
  return explained / variance;
}

/** R² of the mean prediction of the trees that were not grown from a row. */
function fitOf(forest: readonly Tree[], rows: readonly Float64Array[], places: Float64Array): number {
  let [error, spread] = [0, 0];
  for (const [row, point] of rows.entries()) {
    const unaware = forest.filter(({ unseen }) => unseen.has(row));
    if (unaware.length === 0) continue;
    error += (mean(unaware.map((tree) => predict(tree, point))) - places[row]!) ** 2;
    spread += (0.5 - places[row]!) ** 2;
  }
  return spread === 0 ? 0 : Math.max(0, 1 - error / spread);
}

/** A box in which a tree predicts one value, by its lower and upper corner. */
interface Leaf {
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly value: number;
}

interface Tree {
  readonly leaves: readonly Leaf[];
  /** The rows that it was not grown from. */
  readonly unseen: ReadonlySet<number>;
}

/** Fewer rows than this are not split any further. */
const LEAST_ROWS = 6;

/** Grows a random forest for regression over coordinates from 0 to 1: each tree from a bootstrap sample of the rows. */
function growForest(rows: readonly Float64Array[], targets: Float64Array, trees: number): readonly Tree[] {
  return Array.from({ length: trees }, (_, i) => {
    const rng = new Rng(i);
    const drawn = rows.map(() => rng.int(rows.length));
    const seen = new Set(drawn);
    const dimensions = rows[0]!.length;
    const leaves: Leaf[] = [];
    const grow = (members: readonly number[], from: Float64Array, to: Float64Array): void => {
      const split = members.length < LEAST_ROWS ? undefined : bestSplit(members, rows, targets);
      if (split === undefined) {
        leaves.push({ from, to, value: meanOf(members, targets) });
        return;
      }
      const { dimension, at } = split;
      grow(
        members.filter((row) => rows[row]![dimension]! < at),
        from,
        to.with(dimension, at),
      );
      grow(
        members.filter((row) => rows[row]![dimension]! >= at),
        from.with(dimension, at),
        to,
      );
    };
    grow(drawn, new Float64Array(dimensions), new Float64Array(dimensions).fill(1));
    return { leaves, unseen: new Set([...rows.keys()].filter((row) => !seen.has(row))) };
  });
}

function predict({ leaves }: Tree, row: Float64Array): number {
  return leaves.find(({ from, to }) => row.every((x, d) => x >= from[d]! && (x < to[d]! || to[d] === 1)))!.value;
}

const meanOf = (members: readonly number[], targets: Float64Array): number =>
  members.reduce((sum, row) => sum + targets[row]!, 0) / members.length;

/** The split with the least sums of squares on its two sides; undefined where nothing can be split. */
function bestSplit(
  members: readonly number[],
  rows: readonly Float64Array[],
  targets: Float64Array,
): { readonly dimension: number; readonly at: number } | undefined {
  const total = members.reduce((sum, row) => sum + targets[row]!, 0);
  let best: { readonly dimension: number; readonly at: number } | undefined;
  // The sums of squares are least where this is largest. It starts with its value without a split.
  let most = (total * total) / members.length + 1e-9;
  for (let dimension = 0; dimension < rows[0]!.length; dimension++) {
    const x = (row: number): number => rows[row]![dimension]!;
    const sorted = members.toSorted((a, b) => x(a) - x(b));
    let left = 0;
    for (let i = 1; i < sorted.length; i++) {
      left += targets[sorted[i - 1]!]!;
      const [before, after] = [x(sorted[i - 1]!), x(sorted[i]!)];
      if (before === after) continue;
      const gain = (left * left) / i + (total - left) ** 2 / (sorted.length - i);
      if (gain > most) [best, most] = [{ dimension, at: (before + after) / 2 }, gain];
    }
  }
  return best;
}
