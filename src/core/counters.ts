// The run's counters: the only clock that cadences, limits and schedules look at. Plain numbers, saved and restored as they are.

export interface Counters {
  /** Optimizer steps, the one at hand included once it began. */
  step: number;
  /** Epochs, the one at hand included once it began. */
  epoch: number;
  /** Micro-batches, the one at hand included once it was fetched. */
  batches: number;
  samples: number;
  tokens: number;
  /** Milliseconds of training, as of the last boundary. */
  elapsed: number;
}

export const zeroCounters = (): Counters => ({ step: 0, epoch: 0, batches: 0, samples: 0, tokens: 0, elapsed: 0 });

/**
 * Counters now and at the two boundaries before. A cadence asks whether a multiple lies between two of them,
 * so it needs no memory of its own and is exact after resume.
 */
export class Clock {
  now = zeroCounters();
  /** At the end of the step before. */
  before = zeroCounters();
  /** At the end of the step before that: time-based cadences of events inside a step look here, since their own step is not over. */
  earlier = zeroCounters();

  /** Closes a step's account, once everything that follows the step has run. */
  mark(): void {
    const { earlier } = this;
    this.earlier = this.before;
    this.before = Object.assign(earlier, this.now);
  }

  reset(counters: Counters = zeroCounters()): void {
    this.now = { ...counters };
    this.before = { ...counters };
    this.earlier = { ...counters };
  }
}
