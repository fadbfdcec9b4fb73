// The run's counters: the only clock that cadences, limits and schedules look at. Plain numbers, saved and restored as they are.

export interface Counters {
  /** Optimizer steps, the one at hand included once it began. */
  step: number;
  /** Epochs, the one at hand included once it began. */
  epoch: number;
  /** Whole epochs. The one at hand counts from its last step on, so its evaluation already sees it. */
  epochsDone: number;
  /**
   * Epochs with a fraction: how far the data is used once the step at hand is done. `epochsDone` where the length of an
   * epoch is not known.
   */
  progress: number;
  /** Micro-batches, the one at hand included once it was fetched. */
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

/** The epoch at hand as users count: from 0, and 0 before the first too. */
export const epochIdx = ({ epoch }: Readonly<Counters>): number => Math.max(0, epoch - 1);

/** What comes again and again: between two of a kind a cadence looks for a multiple. */
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

  /** At the end of the last occasion of this kind; for a batch, just before the one at hand was fetched. */
  before(occasion: Occasion): Counters {
    return this.#marks[occasion].before;
  }

  /** At the end of the one before that: for events at the beginning of an occasion, when nothing of it has been counted. */
  earlier(occasion: Occasion): Counters {
    return this.#marks[occasion].earlier;
  }

  /** Closes an occasion's account, once everything that belongs to it has run. */
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
