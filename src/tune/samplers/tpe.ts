// tpe: the tree-structured Parzen estimator (Bergstra et al. 2011). It samples where good trials are dense and the others
// are not.
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import { Rng } from "../../data/random.ts";
import type { SpaceParameter } from "../space/compile.ts";
import type { SpaceTree } from "../space/parameters.ts";
import { exists, Space } from "../space/space.ts";
import type { Objective, Sampler, TrialRecord } from "../types.ts";
import { parzen, type Point } from "./parzen.ts";
import { drawParams } from "./random.ts";
import { rankTrials } from "../ranking.ts";

/** Options of `tpe`. */
export interface TpeOptions {
  /** Default 0. */
  readonly seed?: number;
  /** Trials drawn at random before there is enough to learn from. Default 10. */
  readonly startup?: number;
  /** The share of the trials that counts as good; at most 25 trials. Default 0.2. */
  readonly gamma?: number;
  /** How many candidates are drawn for each suggestion. Default 24. */
  readonly candidates?: number;
  /** Models parameters jointly, and so their interactions. Default true; false: each on its own. */
  readonly multivariate?: boolean;
}

/** @example tpe({ lr: logUniform(1e-4, 1e-1), width: int(32, 512, { log: true }) }, { seed: 1 }) */
export const tpe = /* @__PURE__ */ component(
  {
    kind: "sampler",
    name: "tpe",
    takes: () => ({
      args: { space: is.anything },
      options: {
        seed: is.whole,
        startup: is.wholeFrom(1),
        gamma: is.between(0.001, 0.999),
        candidates: is.wholeFrom(1),
        multivariate: is.boolean,
      },
      supplied: ["space"],
    }),
  },
  (space: Space | SpaceTree, options: TpeOptions = {}): Sampler => {
    const { seed = 0, startup = 10, gamma = 0.2, candidates = 24, multivariate = true } = options;
    const whole = Space.of(space);
    const { parameters } = whole;
    // Each on its own still follows the tree: a choice comes before the parameters that depend on it.
    const groups = multivariate ? [parameters] : parameters.map((parameter) => [parameter]);
    return {
      name: "tpe",
      suggest(number, trials, { objectives }) {
        const rng = new Rng(seed, number);
        const { good, bad, judged } = splitTrials(trials, objectives, gamma);
        if (judged < startup) return drawParams(whole, rng);
        const pointsOf = (some: readonly TrialRecord[]): Point[] => some.map(({ params }) => whole.values(params));
        const [goodPoints, badPoints] = [pointsOf(good), pointsOf(bad)];
        const point: (number | undefined)[] = parameters.map(() => undefined);
        for (const group of groups) suggestGroup(group, goodPoints, badPoints, candidates, rng, point);
        return whole.build(({ index }) => point[index]!);
      },
    };
  },
);

/** Draws candidates from the density of the good trials, and keeps the one with the best ratio to that of the others. */
function suggestGroup(
  group: readonly SpaceParameter[],
  good: readonly Point[],
  bad: readonly Point[],
  candidates: number,
  rng: Rng,
  point: (number | undefined)[],
): void {
  const [only] = group;
  if (group.length === 1 && !exists(only!, point)) return;
  // A parameter on its own learns only from trials that have it.
  const having = (points: readonly Point[]): readonly Point[] =>
    group.length === 1 ? points.filter((at) => at[only!.index] !== undefined) : points;
  const [likely, unlikely] = [parzen(group, having(good)), parzen(group, having(bad))];
  let best: readonly (number | undefined)[] = point;
  let bestGain = -Infinity;
  for (let i = 0; i < candidates; i++) {
    const candidate = [...point];
    likely.draw(rng, candidate);
    const gain = likely.logDensity(candidate) - unlikely.logDensity(candidate);
    if (gain > bestGain || i === 0) [best, bestGain] = [candidate, gain];
  }
  for (const { index } of group) point[index] = best[index];
}

interface SplitTrials {
  readonly good: readonly TrialRecord[];
  readonly bad: readonly TrialRecord[];
  /** How many trials can be compared. */
  readonly judged: number;
}

/** At most this many are good: the best of very many trials are close together. */
const MOST_GOOD = 25;

/**
 * Good and bad trials. Unfinished ones count as bad, so that parallel suggestions stay apart; failed ones too, since other
 * trials near them are likely to fail.
 */
function splitTrials(trials: readonly TrialRecord[], objectives: readonly Objective[], gamma: number): SplitTrials {
  const ranked = rankTrials(trials, objectives);
  const good = ranked.slice(0, Math.min(MOST_GOOD, Math.ceil(gamma * ranked.length)));
  const isGood = new Set(good);
  return { good, bad: trials.filter((trial) => !isGood.has(trial)), judged: ranked.length };
}
