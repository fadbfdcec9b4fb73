// Learning-rate schedules that are a formula of the position in the run. Most have a counterpart in torch.
import { component } from "../../core/component.ts";
import { is } from "../../core/options.ts";
import type { Schedule } from "../../core/optimizer.ts";
import {
  type Amount,
  type Interval,
  cosineBetween,
  isAmount,
  isInterval,
  isTotal,
  position,
  ramp,
  readAmount,
  totalOf,
} from "./time.ts";

/** Options of `constant`. */
export interface ConstantOptions {
  /** Default 1. */
  readonly factor?: number;
}

/**
 * A constant factor on the base rate.
 * @example constant()
 */
export const constant = /* @__PURE__ */ component(
  { kind: "schedule", name: "constant", takes: () => ({ options: { factor: is.nonNegative } }) },
  (options: ConstantOptions = {}): Schedule => {
    const { factor = 1 } = options;
    return { name: "constant", interval: "epoch", factor: () => factor };
  },
);

/** Options of `linear`. */
export interface LinearOptions {
  /** The factor at the first step. Default 1. */
  readonly start?: number;
  /** The factor once `total` steps are done. Default 0. */
  readonly end?: number;
  /** Steps (or epochs) from `start` to `end`; the whole run when absent. */
  readonly total?: number;
  readonly interval?: Interval;
}

/**
 * From `start` to `end` in a straight line, then `end`, as torch's LinearLR.
 * @example warmup({ steps: "5%", schedule: linear() })
 */
export const linear = /* @__PURE__ */ component(
  {
    kind: "schedule",
    name: "linear",
    takes: () => ({ options: { start: is.nonNegative, end: is.nonNegative, total: isTotal, interval: isInterval } }),
  },
  (options: LinearOptions = {}): Schedule => {
    const { start = 1, end = 0, interval = "step" } = options;
    return {
      name: "linear",
      interval,
      factor(at) {
        const total = totalOf("linear", options.total, at, interval);
        return start + ((end - start) * Math.min(position(at, interval), total)) / total;
      },
    };
  },
);

/** Options of `step`. */
export interface StepOptions {
  /** Epochs (or steps) between drops. */
  readonly every: number;
  /** What each drop multiplies the rate by. Default 0.1. */
  readonly gamma?: number;
  /** Default "epoch". */
  readonly interval?: Interval;
}

/**
 * The rate times `gamma` after every `every` epochs, as torch's StepLR.
 * @example step({ every: 30, gamma: 0.1 })
 */
export const step = /* @__PURE__ */ component(
  {
    kind: "schedule",
    name: "step",
    takes: () => ({
      options: { every: is.wholeFrom(1), gamma: is.positive, interval: isInterval },
      required: ["every"],
    }),
  },
  (options: StepOptions): Schedule => {
    const { every, gamma = 0.1, interval = "epoch" } = options;
    return { name: "step", interval, factor: (at) => gamma ** Math.floor(position(at, interval) / every) };
  },
);

/** Options of `exponential`. */
export interface ExponentialOptions {
  /** What each epoch (or step) multiplies the rate by. */
  readonly gamma: number;
  /** Default "epoch". */
  readonly interval?: Interval;
}

/**
 * The rate times `gamma` after every epoch, as torch's ExponentialLR.
 * @example exponential({ gamma: 0.95 })
 */
export const exponential = /* @__PURE__ */ component(
  {
    kind: "schedule",
    name: "exponential",
    takes: () => ({ options: { gamma: is.positive, interval: isInterval }, required: ["gamma"] }),
  },
  (options: ExponentialOptions): Schedule => {
    const { gamma, interval = "epoch" } = options;
    return { name: "exponential", interval, factor: (at) => gamma ** position(at, interval) };
  },
);

/** Options of `cosine`. */
export interface CosineOptions {
  /** A linear rise before the cosine: `100`, `"100 steps"` or `"5%"` of the run. Default 0. */
  readonly warmup?: Amount;
  /** The factor at the end. Default 0. */
  readonly min?: number;
  /** Steps (or epochs) in all, warmup included; the whole run when absent. */
  readonly total?: number;
  /** How many times the cosine runs down; each starts again from 1. Default 1. */
  readonly cycles?: number;
  readonly interval?: Interval;
}

/**
 * Cosine annealing as torch's CosineAnnealingLR, with warmup and restarts: a linear rise, half a cosine from 1 down to
 * `min`, then `min`.
 * @example cosine({ warmup: "5%", min: 0.1 })
 */
export const cosine = /* @__PURE__ */ component(
  {
    kind: "schedule",
    name: "cosine",
    takes: () => ({
      options: {
        warmup: isAmount,
        min: is.nonNegative,
        total: isTotal,
        cycles: is.wholeFrom(1),
        interval: isInterval,
      },
    }),
  },
  (options: CosineOptions = {}): Schedule => {
    const { warmup = 0, min = 0, cycles = 1, interval = "step" } = options;
    const warmupOf = readAmount("cosine: warmup", warmup, interval);
    return {
      name: "cosine",
      interval,
      factor(at) {
        const total = totalOf("cosine", options.total, at, interval);
        const rise = warmupOf(() => total);
        const t = position(at, interval);
        if (t < rise) return ramp(t, rise);
        if (t >= total) return min;
        const progress = ((t - rise) / (total - rise)) * cycles;
        return cosineBetween(1, min, progress % 1);
      },
    };
  },
);

/** Options of `oneCycle`. */
export interface OneCycleOptions {
  /** The part of the run spent going up. Default 0.3. */
  readonly pctStart?: number;
  /** The run starts at 1/divFactor of the rate. Default 25. */
  readonly divFactor?: number;
  /** It ends at 1/finalDivFactor of where it started. Default 1e4. */
  readonly finalDivFactor?: number;
  readonly total?: number;
  readonly interval?: Interval;
}

/**
 * The one-cycle policy, as torch's OneCycleLR with two cosine phases: up to the optimizer's rate, then down to almost
 * nothing.
 * @example oneCycle({ pctStart: 0.3 })
 */
export const oneCycle = /* @__PURE__ */ component(
  {
    kind: "schedule",
    name: "oneCycle",
    takes: () => ({
      options: {
        pctStart: is.between(0, 1),
        divFactor: is.positive,
        finalDivFactor: is.positive,
        total: isTotal,
        interval: isInterval,
      },
    }),
  },
  (options: OneCycleOptions = {}): Schedule => {
    const { pctStart = 0.3, divFactor = 25, finalDivFactor = 1e4, interval = "step" } = options;
    const start = 1 / divFactor;
    const end = start / finalDivFactor;
    return {
      name: "oneCycle",
      interval,
      factor(at) {
        const total = totalOf("oneCycle", options.total, at, interval);
        const t = Math.min(position(at, interval), total - 1);
        const peak = pctStart * total - 1;
        if (t <= peak) return peak === 0 ? 1 : cosineBetween(start, 1, t / peak);
        return cosineBetween(1, end, (t - peak) / (total - 1 - peak));
      },
    };
  },
);
