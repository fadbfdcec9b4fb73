// How long a run may be, and how short it may not be.
import { parseQuantity, type Quantity } from "./cadence.ts";
import type { Counters } from "./counters.ts";
import { OptionError } from "./errors.ts";
import { is, show } from "./options.ts";

export interface LimitOptions {
  /** Passes over the data, in all. */
  readonly epochs?: number;
  /** Optimizer steps, in all. */
  readonly steps?: number;
  /** Samples, in all: the run ends with the step that reaches it. */
  readonly maxSamples?: number;
  /** The same in tokens, which `tokens` counts. */
  readonly maxTokens?: number;
  /** Time of training, that before a resume included: `"10 min"`, `"2 h"`, or milliseconds. */
  readonly maxTime?: Quantity;
  /** A stop that a hook asks for earlier is refused; the hook may ask again later. */
  readonly minEpochs?: number;
  /** The same in steps. */
  readonly minSteps?: number;
}

export const LIMIT_CHECKS = {
  epochs: is.wholeFrom(0),
  steps: is.wholeFrom(0),
  maxSamples: is.positive,
  maxTokens: is.positive,
  maxTime: is.or(is.positive, is.name),
  minEpochs: is.wholeFrom(0),
  minSteps: is.wholeFrom(0),
};

export class Limits {
  readonly epochs: number;
  readonly #options: LimitOptions;
  readonly #steps: number;
  readonly #maxSamples: number;
  readonly #maxTokens: number;
  readonly #maxTime: number;

  constructor(options: LimitOptions) {
    const bounded = [options.epochs, options.steps, options.maxSamples, options.maxTokens, options.maxTime].some(
      (limit) => limit !== undefined,
    );
    if (!bounded) {
      throw new OptionError(
        `Trainer: say how long to train: one of epochs, steps, maxSamples, maxTokens or maxTime, in new Trainer({ … }) or fit({ … }).`,
      );
    }
    this.#options = options;
    this.#steps = options.steps ?? Infinity;
    this.#maxSamples = options.maxSamples ?? Infinity;
    this.#maxTokens = options.maxTokens ?? Infinity;
    this.epochs = options.epochs ?? Infinity;
    const time = options.maxTime === undefined ? undefined : parseQuantity("maxTime", options.maxTime, "elapsed");
    if (time && time.unit !== "elapsed")
      throw new OptionError(`Trainer: Expected \`maxTime\` to be a time like "10 min", got ${show(options.maxTime)}`);
    this.#maxTime = time?.value ?? Infinity;
  }

  /** The limit within an epoch that is reached, in words; undefined when the run may go on. */
  reached(now: Counters): string | undefined {
    if (now.step >= this.#steps) return `${this.#steps} steps`;
    if (now.samples >= this.#maxSamples) return `${this.#maxSamples} samples`;
    if (now.tokens >= this.#maxTokens) return `${this.#maxTokens} tokens`;
    if (now.elapsed >= this.#maxTime) return `time limit (${this.#options.maxTime})`;
    return undefined;
  }

  /** Why a hook may not stop the run yet; undefined when it may. */
  tooEarly(now: Counters): string | undefined {
    const { minSteps = 0, minEpochs = 0 } = this.#options;
    if (now.step < minSteps) return `before minSteps (${minSteps})`;
    if (now.epochsDone < minEpochs) return `before minEpochs (${minEpochs})`;
    return undefined;
  }

  /** Steps in all, as far as they can be known from the number of steps in an epoch. */
  totalSteps(stepsPerEpoch: number | undefined): number | undefined {
    const byEpochs = stepsPerEpoch === undefined || this.epochs === Infinity ? Infinity : this.epochs * stepsPerEpoch;
    const total = Math.min(byEpochs, this.#steps);
    return total === Infinity ? undefined : total;
  }
}

// `limitBatches`: how many batches of an epoch, or of an evaluation, are used.

/** A whole number of batches, or a fraction below 1 of those that a loader has. */
export type BatchLimit = number | { readonly train?: number; readonly eval?: number };

/** Batches that the limit allows; Infinity without one. `loader` is whose `length` it is, for the error. */
export function batchesAllowed(
  limit: BatchLimit | undefined,
  of: "train" | "eval",
  length: number | undefined,
  loader: string,
): number {
  const given = (typeof limit === "object" ? limit[of] : limit) ?? Infinity;
  if (given >= 1) return given;
  if (length === undefined) {
    throw new OptionError(
      `Trainer: \`limitBatches\` is a fraction (${given}), but the length of ${loader} is not known (a stream, or a mix that chance decides). Give a whole number of batches.`,
      { option: "limitBatches" },
    );
  }
  // Rounded down, but 0.29 of 100 is 29, and something is always left.
  return Math.max(1, Math.floor(given * length * (1 + 4 * Number.EPSILON)));
}
