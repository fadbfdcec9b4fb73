// A Parzen estimator: a density over some parameters of a space, as a sum of kernels: one around each trial, and a wide one
// as the prior.
import type { Rng } from "../../data/random.ts";
import type { ChoiceEntry, NumberEntry, SpaceParameter } from "../space/compile.ts";
import { exists, valueAt } from "../space/space.ts";

/** By the parameter's index: a number, or the index of an option; undefined where the parameter does not exist. */
export type Point = readonly (number | undefined)[];

/** The weight of the prior kernel, relative to a trial's. */
const PRIOR_WEIGHT = 1;

export interface Parzen {
  /** Draws the estimator's parameters, as far as they exist, into a point that has the parameters before them. */
  draw(rng: Rng, point: (number | undefined)[]): void;
  /** The log of the density at a point. */
  logDensity(point: Point): number;
}

/** One parameter's factor of each kernel. */
interface KernelFactor {
  readonly parameter: SpaceParameter;
  draw(rng: Rng, kernel: number): number;
  /** Adds the log of each kernel's density at the value. */
  addLogDensities(value: number, logs: Float64Array): void;
}

/**
 * Kernels are joint over `parameters`. Where a trial does not have a parameter, its kernel is as wide as the prior there.
 */
export function parzen(parameters: readonly SpaceParameter[], trials: readonly Point[]): Parzen {
  const factors = parameters.map((parameter) => {
    const values = trials.map((trial) => trial[parameter.index]);
    return parameter.kind === "choice"
      ? choiceFactor(parameter, values)
      : numberFactor(parameter, values, parameters.length);
  });
  const totalWeight = trials.length + PRIOR_WEIGHT;
  const logWeights = new Float64Array(trials.length + 1).fill(-Math.log(totalWeight));
  logWeights[trials.length]! += Math.log(PRIOR_WEIGHT);
  const logs = new Float64Array(logWeights.length);
  return {
    draw(rng, point) {
      const kernel = Math.min(trials.length, Math.floor(rng.next() * totalWeight));
      for (const factor of factors) {
        if (exists(factor.parameter, point)) point[factor.parameter.index] = factor.draw(rng, kernel);
      }
    },
    logDensity(point) {
      logs.set(logWeights);
      for (const factor of factors) {
        const value = point[factor.parameter.index];
        if (value !== undefined) factor.addLogDensities(value, logs);
      }
      return logSumExp(logs);
    },
  };
}

function logSumExp(logs: Float64Array): number {
  let most = -Infinity;
  for (const log of logs) most = Math.max(most, log);
  let sum = 0;
  // Terms that are 40 below the largest, which most are, do not change the sum.
  for (const log of logs) if (log > most - 40) sum += Math.exp(log - most);
  return most + Math.log(sum);
}

/** The trial's own option has most of the kernel's mass; the share of the others shrinks with the number of trials. */
function choiceFactor(parameter: ChoiceEntry, values: readonly (number | undefined)[]): KernelFactor {
  const options = parameter.labels.length;
  const spread = PRIOR_WEIGHT / (values.length + 1);
  const tried = 1 / (1 + spread * options);
  const logAny = -Math.log(options);
  const [logTried, logOther] = [Math.log(tried + (1 - tried) / options), Math.log((1 - tried) / options)];
  return {
    parameter,
    draw(rng, kernel) {
      const value = values[kernel];
      return value !== undefined && rng.next() < tried ? value : rng.int(options);
    },
    addLogDensities(option, logs) {
      for (let kernel = 0; kernel < logs.length; kernel++) {
        const value = values[kernel];
        logs[kernel]! += value === undefined ? logAny : value === option ? logTried : logOther;
      }
    },
  };
}

/** Normal on the parameter's own scale, truncated to its range. The prior is centred, and as wide as the range. */
function numberFactor(parameter: NumberEntry, values: readonly (number | undefined)[], together: number): KernelFactor {
  const { domain } = parameter;
  const units = values.map((value) => (value === undefined ? undefined : domain.toUnit(value)));
  const widths = together === 1 ? bandwidthsByNeighbours(units) : scottBandwidths(units, together);
  const means = Float64Array.from([...units, undefined], (unit) => unit ?? 0.5);
  const deviations = Float64Array.from([...units, undefined], (unit, i) => (unit === undefined ? 1 : widths[i]!));
  const within = (kernel: number, from: number, to: number): number =>
    normalMass((from - means[kernel]!) / deviations[kernel]!, (to - means[kernel]!) / deviations[kernel]!);
  const logInside = means.map((_, kernel) => Math.log(within(kernel, 0, 1)));
  const logHeights = deviations.map((deviation, i) => -Math.log(deviation * Math.sqrt(2 * Math.PI)) - logInside[i]!);
  return {
    parameter,
    draw: (rng, kernel) => valueAt(parameter, drawInUnit(rng, means[kernel]!, deviations[kernel]!)),
    addLogDensities(value, logs) {
      if (domain.step === undefined) {
        const unit = domain.toUnit(value);
        for (let kernel = 0; kernel < logs.length; kernel++) {
          const z = (unit - means[kernel]!) / deviations[kernel]!;
          logs[kernel]! += logHeights[kernel]! - 0.5 * z * z;
        }
      } else {
        const [from, to] = domain.cell(value);
        for (let kernel = 0; kernel < logs.length; kernel++) {
          logs[kernel]! += Math.log(within(kernel, from, to)) - logInside[kernel]!;
        }
      }
    },
  };
}

const minBandwidth = (trials: number): number => 1 / Math.min(100, trials + 2);

/** The distance to the farther neighbour; the ends and the middle of the range count as points (Bergstra et al. 2011). */
function bandwidthsByNeighbours(units: readonly (number | undefined)[]): readonly number[] {
  const all = [...units.map((unit) => unit ?? 0.5), 0.5];
  const order = all.map((_, i) => i).sort((a, b) => all[a]! - all[b]!);
  const widths = units.map(() => 1);
  for (const [place, i] of order.entries()) {
    const before = place === 0 ? 0 : all[order[place - 1]!]!;
    const after = place === order.length - 1 ? 1 : all[order[place + 1]!]!;
    const farther = Math.max(all[i]! - before, after - all[i]!);
    if (i < units.length) widths[i] = Math.min(1, Math.max(farther, minBandwidth(units.length)));
  }
  return widths;
}

/** The same for all: Scott's rule on a fifth of the range. */
function scottBandwidths(units: readonly (number | undefined)[], together: number): readonly number[] {
  const width = Math.max(0.2 * units.length ** (-1 / (together + 4)), minBandwidth(units.length));
  return units.map(() => width);
}

/** The mass of the standard normal distribution between two numbers. */
export function normalMass(from: number, to: number): number {
  // For close bounds the difference below would be mostly rounding error.
  if (to - from < 1e-3) return ((to - from) * Math.exp(-(((from + to) / 2) ** 2) / 2)) / Math.sqrt(2 * Math.PI);
  return Math.max(0, normalCdf(to) - normalCdf(from));
}

/** The cumulative distribution function of the standard normal distribution. */
function normalCdf(x: number): number {
  // The tail beyond is below 10⁻¹⁵.
  if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
  const tail = 0.5 * erfcOfPositive(Math.abs(x) / Math.SQRT2);
  return x > 0 ? 1 - tail : tail;
}

/** A series near zero and a continued fraction beyond: each converges fast where it is used. */
function erfcOfPositive(x: number): number {
  if (x < 2) {
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-10 * Math.abs(sum) && n < 100; n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = 0;
  for (let k = 20; k >= 1; k--) fraction = k / 2 / (x + fraction);
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
}

/** A draw from a normal distribution with a mean in [0, 1], truncated to [0, 1]. */
export function drawInUnit(rng: Rng, mean: number, deviation: number): number {
  // At least a third of the draws fall inside, so the bound is never reached in practice.
  for (let i = 0; i < 1000; i++) {
    const draw = mean + deviation * rng.normal();
    if (draw >= 0 && draw <= 1) return draw;
  }
  return mean;
}
