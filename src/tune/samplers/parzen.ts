// A Parzen estimator: a density over some of a space's parameters, as a sum of kernels, one around each trial and a wide one
// for what nobody has tried.
import type { Rng } from "../../data/random.ts";
import type { ChoiceEntry, NumberEntry, SpaceParameter } from "../space/compile.ts";
import { exists, valueAt } from "../space/space.ts";

/** By place in the list of parameters: a number, or the place of an option; undefined where it does not exist. */
export type Point = readonly (number | undefined)[];

/** How much the wide kernel counts against a trial's. */
const PRIOR_WEIGHT = 1;

export interface Parzen {
  /** Adds a draw of the estimator's parameters that exist to a point that has those before them. */
  draw(rng: Rng, point: (number | undefined)[]): void;
  /** The log of the density at a point. */
  logDensity(point: Point): number;
}

/** One parameter's part of each kernel. */
interface Part {
  readonly parameter: SpaceParameter;
  draw(rng: Rng, kernel: number): number;
  /** Adds the log of each kernel's density at the value. */
  addLogDensities(value: number, logs: Float64Array): void;
}

/**
 * Kernels are joint over `parameters`. Where a trial does not have a parameter, its kernel is the wide one there: it says
 * nothing about it.
 */
export function parzen(parameters: readonly SpaceParameter[], trials: readonly Point[]): Parzen {
  const parts = parameters.map((parameter) => {
    const values = trials.map((trial) => trial[parameter.index]);
    return parameter.kind === "choice"
      ? choicePart(parameter, values)
      : numberPart(parameter, values, parameters.length);
  });
  const totalWeight = trials.length + PRIOR_WEIGHT;
  const logWeights = new Float64Array(trials.length + 1).fill(-Math.log(totalWeight));
  logWeights[trials.length]! += Math.log(PRIOR_WEIGHT);
  const logs = new Float64Array(logWeights.length);
  return {
    draw(rng, point) {
      const kernel = Math.min(trials.length, Math.floor(rng.next() * totalWeight));
      for (const part of parts) {
        if (exists(part.parameter, point)) point[part.parameter.index] = part.draw(rng, kernel);
      }
    },
    logDensity(point) {
      logs.set(logWeights);
      for (const part of parts) {
        const value = point[part.parameter.index];
        if (value !== undefined) part.addLogDensities(value, logs);
      }
      return logSumExp(logs);
    },
  };
}

function logSumExp(logs: Float64Array): number {
  let most = -Infinity;
  for (const log of logs) most = Math.max(most, log);
  let sum = 0;
  // What is 40 below the most does not show in the sum, and most are.
  for (const log of logs) if (log > most - 40) sum += Math.exp(log - most);
  return most + Math.log(sum);
}

/** An option that was tried has the most of its kernel; what the others have shrinks with the number of trials. */
function choicePart(parameter: ChoiceEntry, values: readonly (number | undefined)[]): Part {
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

/** Normal on the parameter's own scale, cut to its range. The wide one stands in the middle, as wide as the range. */
function numberPart(parameter: NumberEntry, values: readonly (number | undefined)[], together: number): Part {
  const { domain } = parameter;
  const units = values.map((value) => (value === undefined ? undefined : domain.toUnit(value)));
  const widths = together === 1 ? widthsByNeighbours(units) : widthsByNumber(units, together);
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

const leastWidth = (trials: number): number => 1 / Math.min(100, trials + 2);

/** As far as the farther neighbour, the ends and the middle of the range among them (Bergstra et al. 2011). */
function widthsByNeighbours(units: readonly (number | undefined)[]): readonly number[] {
  const all = [...units.map((unit) => unit ?? 0.5), 0.5];
  const order = all.map((_, i) => i).sort((a, b) => all[a]! - all[b]!);
  const widths = units.map(() => 1);
  for (const [place, i] of order.entries()) {
    const before = place === 0 ? 0 : all[order[place - 1]!]!;
    const after = place === order.length - 1 ? 1 : all[order[place + 1]!]!;
    const farther = Math.max(all[i]! - before, after - all[i]!);
    if (i < units.length) widths[i] = Math.min(1, Math.max(farther, leastWidth(units.length)));
  }
  return widths;
}

/** The same for all, narrower with more trials: Scott's rule on a fifth of the range. */
function widthsByNumber(units: readonly (number | undefined)[], together: number): readonly number[] {
  const width = Math.max(0.2 * units.length ** (-1 / (together + 4)), leastWidth(units.length));
  return units.map(() => width);
}

// The normal distribution, cut to the coordinates from 0 to 1.

/** The part of the standard normal distribution between two numbers. */
export function normalMass(from: number, to: number): number {
  // Of two that are close, the difference would be nothing but rounding: one whole number among a million is so narrow.
  if (to - from < 1e-3) return ((to - from) * Math.exp(-(((from + to) / 2) ** 2) / 2)) / Math.sqrt(2 * Math.PI);
  return Math.max(0, normalCdf(to) - normalCdf(from));
}

/** The part of the standard normal distribution below x. */
function normalCdf(x: number): number {
  // Beyond this lies less than one part in 10¹⁵, and most of what is asked for.
  if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
  const tail = 0.5 * erfcOfPositive(Math.abs(x) / Math.SQRT2);
  return x > 0 ? 1 - tail : tail;
}

/** By its continued fraction far out, by its series near zero: both converge fast where they are used. */
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

/** A draw from the normal distribution around a mean in [0, 1], of what falls into [0, 1]. */
export function drawInUnit(rng: Rng, mean: number, deviation: number): number {
  // At worst a third of the draws fall inside; a bound, since nothing may ever hang.
  for (let i = 0; i < 1000; i++) {
    const draw = mean + deviation * rng.normal();
    if (draw >= 0 && draw <= 1) return draw;
  }
  return mean;
}
