// pbt: population-based training (Jaderberg et al. 2017). At intervals, a bad trial continues from the checkpoint of a good
// one, with slightly changed parameters.
import { component } from "../../core/component.ts";
import { OptionError } from "../../core/errors.ts";
import { is, type Check } from "../../core/options.ts";
import { Rng } from "../../data/random.ts";
import { valueAt, type Space } from "../space/space.ts";
import { lossOf } from "../ranking.ts";
import type { Objective, Params, Scheduler, TrialRecord } from "../types.ts";
import { compareLosses, firstObjective, isSteps, stepBefore } from "./curves.ts";

/** Options of `pbt`. */
export interface PbtOptions {
  /** Steps between two comparisons of a trial with the others. */
  readonly every: number;
  /** The worst of this share continue from one of the best of this share. Default 0.25. */
  readonly quantile?: number;
  /** A number is multiplied by one of these. Default [0.8, 1.2]. Options of a choice have no order: they change by `resample`. */
  readonly perturb?: readonly number[];
  /** The probability that a parameter is resampled instead. Default 0.25. */
  readonly resample?: number;
  /** Default 0. */
  readonly seed?: number;
}

const isQuantile: Check = {
  expected: "a number above 0, up to 0.5",
  schema: { type: "number", exclusiveMinimum: 0, maximum: 0.5 },
  test: (value) => typeof value === "number" && value > 0 && value <= 0.5,
};

/** @example pbt({ every: 5, quantile: 0.25 }) */
export const pbt = /* @__PURE__ */ component(
  {
    kind: "scheduler",
    name: "pbt",
    takes: () => ({
      options: {
        every: isSteps,
        quantile: isQuantile,
        perturb: is.arrayOf(isSteps),
        resample: is.between(0, 1),
        seed: is.whole,
      },
      required: ["every"],
    }),
  },
  makePbt,
);

function makePbt(options: PbtOptions): Scheduler {
  const { every, quantile = 0.25, perturb = [0.8, 1.2], resample = 0.25, seed = 0 } = options;
  if (perturb.length === 0) {
    throw new OptionError("pbt: `perturb` is empty. Give at least one factor, such as [0.8, 1.2].", {
      option: "perturb",
    });
  }
  return {
    name: "pbt",
    decide(trial, report, trials, study) {
      const objective = firstObjective(study);
      const due = Math.floor(report.step / every) > Math.floor(stepBefore(trial, report) / every);
      if (!due || lossOf(report.values, objective) === undefined) return { kind: "continue" };
      const population = rank(trials, report.step, objective);
      const share = Math.min(Math.ceil(population.length * quantile), Math.floor(population.length / 2));
      const worst = population.slice(population.length - share);
      if (share === 0 || !worst.includes(trial.number)) return { kind: "continue" };
      const rng = new Rng(seed, trial.number, Math.floor(report.step / every));
      const best = population.slice(0, share);
      const from = best[rng.int(best.length)]!;
      const params = trials.find(({ number }) => number === from)!.params;
      return {
        kind: "exploit",
        from,
        params: explore(study.space, params, rng, perturb, resample),
        reason: `among the worst ${share} of ${population.length} by \`${objective.metric}\`; trial ${from} is among the best`,
      };
    },
  };
}

/** Numbers of the trials, best first, by their reports up to this step: being ahead is no advantage. */
function rank(trials: readonly TrialRecord[], step: number, objective: Objective): number[] {
  return trials
    .filter(({ status }) => status !== "failed" && status !== "pruned")
    .map(({ number, reports }) => {
      const known = reports.findLast((r) => r.step <= step && lossOf(r.values, objective) !== undefined);
      return { number, loss: lossOf(known?.values, objective) };
    })
    .filter((one): one is { number: number; loss: number } => one.loss !== undefined)
    .sort(compareLosses)
    .map(({ number }) => number);
}

/** Parameters near the given ones. Those that come with a newly chosen option are drawn. */
function explore(space: Space, params: Params, rng: Rng, factors: readonly number[], resample: number): Params {
  const values = space.values(params);
  return space.build((parameter) => {
    const value = values[parameter.index];
    // All three are drawn whether they are used or not, so that the draws of one parameter do not affect another's.
    const [resampled, factor, unit] = [rng.next() < resample, factors[rng.int(factors.length)]!, rng.next()];
    if (value === undefined || resampled) return valueAt(parameter, unit);
    if (parameter.kind === "choice") return value;
    const { domain } = parameter;
    const moved = domain.clamp(value * factor);
    if (moved !== value || domain.step === undefined) return moved;
    // A small whole number would otherwise never change.
    return domain.clamp(value + domain.step * Math.sign(factor - 1));
  });
}
