// Hyperband's plan: which trial belongs to which bracket, and how many go how far in each.

/** So many trials go to this step. */
export interface Rung {
  readonly trials: number;
  readonly step: number;
}

/** From the bracket that tries most trials shortest, to the one that runs a few to their end: as Li et al. (2018), table 1. */
export function hyperbandBrackets(maxSteps: number, factor: number): readonly (readonly Rung[])[] {
  // A whole power, which the logarithm may miss by a rounding.
  const most = Math.floor(Math.log(maxSteps) / Math.log(factor) + 1e-9);
  return Array.from({ length: most + 1 }, (_, i) => {
    const halvings = most - i;
    const trials = Math.ceil(((most + 1) / (halvings + 1)) * factor ** halvings - 1e-9);
    return rungsFrom(trials, halvings, maxSteps, factor);
  });
}

function rungsFrom(trials: number, halvings: number, maxSteps: number, factor: number): readonly Rung[] {
  return Array.from({ length: halvings + 1 }, (_, i) => ({
    trials: Math.floor(trials / factor ** i + 1e-9),
    step: maxSteps * factor ** (i - halvings),
  }));
}

/** A bracket of a study: the numbers of its trials, and its rungs. */
export interface Bracket {
  readonly first: number;
  /** The number after its last trial's. */
  readonly end: number;
  readonly rungs: readonly Rung[];
}

/**
 * The bracket of a trial. When all have had their turn they begin again. `totalTrials` cuts the last one short: its rungs
 * would wait forever for trials that never come.
 */
export function bracketOf(
  number: number,
  brackets: readonly (readonly Rung[])[],
  factor: number,
  totalTrials = Infinity,
): Bracket {
  const round = brackets.reduce((sum, [first]) => sum + first!.trials, 0);
  let first = Math.floor(number / round) * round;
  for (const rungs of brackets) {
    const end = first + rungs[0]!.trials;
    if (number >= end) {
      first = end;
      continue;
    }
    if (end <= totalTrials || number >= totalTrials) return { first, end, rungs };
    const there = totalTrials - first;
    const fewer = rungs.map(({ step }, i) => ({ step, trials: Math.max(1, Math.floor(there / factor ** i + 1e-9)) }));
    return { first, end: totalTrials, rungs: fewer };
  }
  throw new RangeError(`No bracket has trial ${number}`);
}
