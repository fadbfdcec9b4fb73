// median: a trial ends when its best value so far is worse than the median of the others at the same step.
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import type { Scheduler } from "../types.ts";
import { firstObjective, leastLossUntil } from "./curves.ts";

/** Options of `median`. */
export interface MedianOptions {
  /** No trial ends before this step. Default 1. */
  readonly grace?: number;
  /** How many other trials must have reached a step before a trial is ended there. Default 5. */
  readonly minTrials?: number;
}

/** @example median({ grace: 3, minTrials: 5 }) */
export const median = /* @__PURE__ */ component(
  {
    kind: "scheduler",
    name: "median",
    takes: () => ({ options: { grace: is.nonNegative, minTrials: is.wholeFrom(1) } }),
  },
  (options: MedianOptions = {}): Scheduler => {
    const { grace = 1, minTrials = 5 } = options;
    return {
      name: "median",
      decide(trial, report, trials, study) {
        const objective = firstObjective(study);
        const own = leastLossUntil(trial, report.step, objective);
        if (own === undefined || report.step < grace) return { kind: "continue" };
        const others = trials
          .filter((other) => other.number !== trial.number && other.reports.some(({ step }) => step >= report.step))
          .map((other) => leastLossUntil(other, report.step, objective))
          .filter((loss) => loss !== undefined);
        if (others.length < minTrials || own <= middle(others)) return { kind: "continue" };
        return {
          kind: "prune",
          reason: `its best \`${objective.metric}\` by step ${report.step} is worse than the median of ${others.length} trials`,
        };
      },
    };
  },
);

/** The median; of an even number, the mean of the two in the middle. */
function middle(losses: readonly number[]): number {
  const sorted = losses.toSorted((a, b) => (a < b ? -1 : 1));
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1]!, sorted[Math.floor(sorted.length / 2)]!];
  return low === high ? low : (low + high) / 2;
}
