// hyperband: successive halving in brackets, some with many short trials and some with a few long ones (Li et al. 2018). A
// trial pauses at each rung until its whole bracket has reached it; then the best continue.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import type { Objective, Scheduler, StudyView, TrialRecord } from "../types.ts";
import { compareLosses, firstObjective, isFactor, isSteps, lossWhenReaching, reportReaching } from "./curves.ts";

/** Options of `hyperband`. */
export interface HyperbandOptions {
  /** The steps of a whole trial. The shortest have 1 step or a little more. */
  readonly maxSteps: number;
  /** One in `factor` trials continues from each rung, for `factor` times the steps. Default 3. */
  readonly factor?: number;
}

/** @example hyperband({ maxSteps: 81, factor: 3 }) */
export const hyperband = /* @__PURE__ */ component(
  {
    kind: "scheduler",
    name: "hyperband",
    takes: () => ({ options: { maxSteps: isSteps, factor: isFactor }, required: ["maxSteps"] }),
  },
  makeHyperband,
);

function makeHyperband(options: HyperbandOptions): Scheduler {
  const { maxSteps, factor = 3 } = options;
  if (maxSteps < factor) {
    throw new OptionError(
      `hyperband: \`maxSteps\` (${maxSteps}) is below \`factor\` (${factor}), so no trial would ever pause.`,
      { option: "maxSteps" },
    );
  }
  const brackets = hyperbandBrackets(maxSteps, factor);
  const bracketFor = (number: number, { totalTrials }: StudyView): Bracket =>
    bracketOf(number, brackets, factor, totalTrials);

  /** For each paused trial of a bracket that is complete at its rung, whether it continues. */
  const verdicts = (trials: readonly TrialRecord[], study: StudyView): ReadonlyMap<number, boolean> => {
    const found = new Map<number, boolean>();
    const byFirst = new Map<number, Bracket>();
    for (const { number, status } of trials) {
      if (status !== "paused") continue;
      const bracket = bracketFor(number, study);
      byFirst.set(bracket.first, bracket);
    }
    for (const bracket of byFirst.values()) {
      for (const [number, goesOn] of judge(bracket, trials, firstObjective(study))) found.set(number, goesOn);
    }
    return found;
  };
  const withVerdict = (verdict: boolean) => (trials: readonly TrialRecord[], study: StudyView) =>
    [...verdicts(trials, study)].filter(([, goesOn]) => goesOn === verdict).map(([number]) => number);

  return {
    name: "hyperband",
    maxSteps,
    decide(trial, report, _trials, study) {
      const objective = firstObjective(study);
      // From the last rung a trial runs to its end.
      const pauses = bracketFor(trial.number, study).rungs.slice(0, -1);
      const rung = pauses.findLast(({ step }) => reportReaching(trial, step, objective)?.step === report.step);
      if (rung === undefined) return { kind: "continue" };
      return { kind: "pause", reason: `step ${rung.step}: waits for the others of its bracket` };
    },
    resume: withVerdict(true),
    drop: withVerdict(false),
  };
}

const ENDED: ReadonlySet<string> = new Set(["completed", "pruned", "failed"]);

/** Whether each paused trial of a bracket continues, as far as that can be decided. */
function judge(
  { first, end, rungs }: Bracket,
  trials: readonly TrialRecord[],
  objective: Objective,
): ReadonlyMap<number, boolean> {
  const verdicts = new Map<number, boolean>();
  let members = trials.filter(({ number }) => number >= first && number < end);
  if (members.length < end - first) return verdicts;
  for (const [i, { step }] of rungs.slice(0, -1).entries()) {
    const there = members
      .map((trial) => ({ trial, number: trial.number, loss: lossWhenReaching(trial, step, objective) }))
      .filter((one): one is typeof one & { loss: number } => one.loss !== undefined);
    const waiting = members.some(
      (trial) => !ENDED.has(trial.status) && !there.some(({ number }) => number === trial.number),
    );
    if (waiting) return verdicts;
    // The place of a trial that cannot continue goes to the next best, unless that one was dropped.
    const promoted = there
      .filter(({ trial, loss }) => trial.status !== "failed" && trial.status !== "pruned" && loss !== Infinity)
      .sort(compareLosses)
      .slice(0, rungs[i + 1]!.trials)
      .map(({ trial }) => trial);
    for (const { trial, number } of there) {
      const stillHere = lossWhenReaching(trial, rungs[i + 1]!.step, objective) === undefined;
      if (trial.status === "paused" && stillHere) verdicts.set(number, promoted.includes(trial));
    }
    members = promoted;
  }
  return verdicts;
}

/** How many trials of a bracket run to this step. */
interface Rung {
  readonly trials: number;
  readonly step: number;
}

/** From the bracket with the most and shortest trials to the one with a few whole ones: Li et al. (2018), table 1. */
export function hyperbandBrackets(maxSteps: number, factor: number): readonly (readonly Rung[])[] {
  // The logarithm of an exact power may be rounded down.
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
interface Bracket {
  readonly first: number;
  /** The number after its last trial's. */
  readonly end: number;
  readonly rungs: readonly Rung[];
}

/**
 * The bracket of a trial. After the last bracket the first follows again. `totalTrials` shortens the last one, whose rungs
 * would otherwise wait forever for trials that never start.
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
