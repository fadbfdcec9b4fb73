// The run's counters: the only clock that cadences, limits and schedules look at. Plain numbers, saved and restored as they are.
import { parseQuantity, type Quantity } from "../cadence.ts";
import { OptionError } from "../errors.ts";
import { is, show } from "../options.ts";

export interface Counters {
  /** Optimizer steps, including the current one. */
  step: number;
  /** Epochs, including the current one. */
  epoch: number;
  /** Finished epochs. The current one counts from its last step on, so its evaluation already sees it. */
  epochsDone: number;
  /**
   * Epochs with a fraction: how much of the data is used once the current step is done. `epochsDone` where the length of an
   * epoch is not known.
   */
  progress: number;
  /** Micro-batches, including the current one once it is fetched. */
  batches: number;
  samples: number;
  tokens: number;
  /** Milliseconds of training, as of the last boundary. */
  elapsed: number;
}

export const zeroCounters = (): Counters => ({
  step: 0,
  epoch: 0,
  epochsDone: 0,
  progress: 0,
  batches: 0,
  samples: 0,
  tokens: 0,
  elapsed: 0,
});

/** The current epoch, counted from 0; also 0 before the first. */
export const epochIdx = ({ epoch }: Readonly<Counters>): number => Math.max(0, epoch - 1);

/** What recurs: a cadence looks for a multiple between two occasions of a kind. */
export type Occasion = "batch" | "step" | "epoch" | "eval" | "log";

/** Everything a clock remembers, as plain data: what a checkpoint keeps, so that cadences are exact after resume. */
export interface ClockState {
  readonly now: Counters;
  readonly marks: Readonly<Record<Occasion, { readonly before: Counters; readonly earlier: Counters }>>;
}

/** Field by field: this runs twice in a step, and Object.assign takes ten times as long. */
function copyInto(to: Counters, from: Readonly<Counters>): Counters {
  to.step = from.step;
  to.epoch = from.epoch;
  to.epochsDone = from.epochsDone;
  to.progress = from.progress;
  to.batches = from.batches;
  to.samples = from.samples;
  to.tokens = from.tokens;
  to.elapsed = from.elapsed;
  return to;
}

/**
 * Counters now, and as the last two occasions of each kind left them. A cadence asks whether a multiple lies in between,
 * so it needs no memory of its own.
 */
export class Clock {
  now = zeroCounters();
  #marks = marksAt(zeroCounters());

  /** At the end of the last occasion of this kind; for a batch, just before the current one was fetched. */
  before(occasion: Occasion): Counters {
    return this.#marks[occasion].before;
  }

  /** At the end of the one before that: for events at the beginning of an occasion, when nothing of it has been counted. */
  earlier(occasion: Occasion): Counters {
    return this.#marks[occasion].earlier;
  }

  /** Ends an occasion, once everything that belongs to it has run. */
  mark(occasion: Occasion = "step"): void {
    const mark = this.#marks[occasion];
    const { earlier } = mark;
    mark.earlier = mark.before;
    mark.before = copyInto(earlier, this.now);
  }

  /** Made of spreads: with a checkpoint hook it is taken in every step, and structuredClone takes ten times as long. */
  state(): ClockState {
    const { batch, step, epoch, eval: evaluation, log } = this.#marks;
    const copy = (mark: Mark): Mark => ({ before: { ...mark.before }, earlier: { ...mark.earlier } });
    const marks = { batch: copy(batch), step: copy(step), epoch: copy(epoch), eval: copy(evaluation), log: copy(log) };
    return { now: { ...this.now }, marks };
  }

  load(state: ClockState): void {
    const { now, marks } = structuredClone(state);
    this.now = withProgress(now);
    for (const { before, earlier } of Object.values(marks)) [before, earlier].forEach(withProgress);
    this.#marks = marks;
  }

  reset(counters: Counters = zeroCounters()): void {
    this.now = { ...counters };
    this.#marks = marksAt(counters);
  }
}

/** Checkpoints of older versions have no `progress`. */
function withProgress(counters: Counters): Counters {
  counters.progress ??= counters.epochsDone;
  return counters;
}

interface Mark {
  before: Counters;
  earlier: Counters;
}

function marksAt(counters: Counters): Record<Occasion, Mark> {
  const mark = () => ({ before: { ...counters }, earlier: { ...counters } });
  return { batch: mark(), step: mark(), epoch: mark(), eval: mark(), log: mark() };
}

// How long a run may be, and how short it may not be.

export interface LimitOptions {
  /** Passes over the data, in all. */
  readonly epochs?: number;
  /** Optimizer steps, in all. */
  readonly steps?: number;
  /** Samples, in all: the run ends with the step that reaches it. */
  readonly maxSamples?: number;
  /** The same in tokens, which `tokens` counts. */
  readonly maxTokens?: number;
  /** Training time, including time before a resume: `"10 min"`, `"2 h"`, or milliseconds. */
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

  /** The limit that is reached, in words; undefined when the run may continue. Limits on epochs are not among them. */
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
