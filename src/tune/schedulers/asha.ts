// asha: asynchronous successive halving (Li et al. 2020), in the variant that stops trials. At each rung a trial continues
// if it is among the best of those that have reached it so far. No trial waits for another.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { lossOf } from "../ranking.ts";
import type { Scheduler } from "../types.ts";
import { firstObjective, isFactor, isSteps, lossWhenReaching, reportReaching } from "./curves.ts";

/** Options of `asha`. */
export interface AshaOptions {
  /** The first rung: no trial ends before this step. Default 1. */
  readonly grace?: number;
  /** The steps of a whole trial. */
  readonly maxSteps: number;
  /** One in `factor` trials continues from each rung, for `factor` times the steps. Default 3. */
  readonly factor?: number;
}

/** @example asha({ grace: 1, maxSteps: 27, factor: 3 }) // judged at steps 1, 3 and 9 */
export const asha = /* @__PURE__ */ component(
  {
    kind: "scheduler",
    name: "asha",
    takes: () => ({ options: { grace: isSteps, maxSteps: isSteps, factor: isFactor }, required: ["maxSteps"] }),
  },
  makeAsha,
);

function makeAsha(options: AshaOptions): Scheduler {
  const { grace = 1, maxSteps, factor = 3 } = options;
  const rungs = ashaRungs(grace, maxSteps, factor);
  if (rungs.length === 0) {
    throw new OptionError(
      `asha: \`grace\` (${grace}) is not below \`maxSteps\` (${maxSteps}), so no trial would ever end early.`,
      { option: "grace" },
    );
  }
  return {
    name: "asha",
    maxSteps,
    decide(trial, report, trials, study) {
      const objective = firstObjective(study);
      for (const rung of rungs) {
        // A rung is decided once, by the report that reaches it; one report may reach several.
        if (reportReaching(trial, rung, objective)?.step !== report.step) continue;
        const own = lossOf(report.values, objective)!;
        const others = trials
          .filter(({ number }) => number !== trial.number)
          .map((other) => lossWhenReaching(other, rung, objective))
          .filter((loss) => loss !== undefined);
        const places = Math.max(1, Math.floor((others.length + 1) / factor));
        const place = others.filter((loss) => loss < own).length + 1;
        if (own === Infinity) return { kind: "prune", reason: `\`${objective.metric}\` is not finite` };
        if (place <= places) continue;
        return {
          kind: "prune",
          reason: `place ${place} of ${others.length + 1} at step ${rung} by \`${objective.metric}\`; the first ${places} continue`,
        };
      }
      return { kind: "continue" };
    },
  };
}

/** The steps at which trials are compared: grace, grace · factor, … below maxSteps. */
export function ashaRungs(grace: number, maxSteps: number, factor: number): readonly number[] {
  const rungs: number[] = [];
  for (let rung = grace; rung < maxSteps; rung *= factor) rungs.push(rung);
  return rungs;
}
