// TPE's two sets: trials that did well, and all others.
import { rankTrials } from "../rank-trials.ts";
import type { Objective, TrialRecord } from "../types.ts";

export interface SplitTrials {
  readonly good: readonly TrialRecord[];
  readonly bad: readonly TrialRecord[];
  /** How many can be compared: what there is to learn from. */
  readonly judged: number;
}

/** No more than this many are good, however many there are: the best of very many lie close together. */
const MOST_GOOD = 25;

/**
 * Those that run or wait are taken for bad until they are known, so that parallel suggestions keep apart; failed ones too,
 * since whatever made them fail is likeliest near them.
 */
export function splitTrials(
  trials: readonly TrialRecord[],
  objectives: readonly Objective[],
  gamma: number,
): SplitTrials {
  const ranked = rankTrials(trials, objectives);
  const good = ranked.slice(0, Math.min(MOST_GOOD, Math.ceil(gamma * ranked.length)));
  const isGood = new Set(good);
  return { good, bad: trials.filter((trial) => !isGood.has(trial)), judged: ranked.length };
}
