// How fast a run goes and when it will be over. Only what this part of the run did counts: a resumed run is as fast as it is now.

/** Older than this counts for little, unless there were few steps since. */
const MEMORY_SECONDS = 15;
const MEMORY_STEPS = 10;

/** Times are in seconds, of any clock that goes forward. */
export class Pace {
  /** Steps before this one were done by an earlier part. */
  #firstStep = 0;
  #mark: { readonly step: number; readonly at: number } | undefined;
  /** Evaluations since the mark: they are no part of a step. */
  #paused = 0;
  // Both fade in the same way, so their ratio is a mean that needs no correction for its beginning.
  #seconds = 0;
  #steps = 0;
  #evalSeconds = 0;
  /** Steps of this part at its last evaluation: so many have cost `#evalSeconds`. */
  #evalSteps = 0;

  /** A part of the run begins after `step`. */
  begin(step: number): void {
    this.#firstStep = step;
    this.#mark = undefined;
    this.#paused = this.#seconds = this.#steps = this.#evalSeconds = this.#evalSteps = 0;
  }

  /** `step` is done. The first call only starts the clock: the first step compiles, and says nothing of the others. */
  mark(step: number, at: number): void {
    const from = this.#mark;
    if (from !== undefined && step === from.step) return;
    this.#mark = { step, at };
    if (from !== undefined) {
      const steps = step - from.step;
      const seconds = Math.max(0, at - from.at - this.#paused);
      const keep = Math.exp(-Math.min(seconds / MEMORY_SECONDS, steps / MEMORY_STEPS));
      this.#seconds = keep * this.#seconds + seconds;
      this.#steps = keep * this.#steps + steps;
    }
    this.#paused = 0;
  }

  /** An evaluation after `step` took so long. */
  evaluated(step: number, seconds: number): void {
    this.#paused += seconds;
    // One before the first step will not come again.
    if (step <= this.#firstStep) return;
    this.#evalSeconds += seconds;
    this.#evalSteps = step - this.#firstStep;
  }

  /** Seconds of a step, without evaluations; undefined as long as there is nothing to tell it from. */
  get secondsPerStep(): number | undefined {
    return this.#steps > 0 ? this.#seconds / this.#steps : undefined;
  }

  /** Seconds until `total` steps are done, evaluations included as they have come so far. */
  left(total: number, at: number): number | undefined {
    const perStep = this.secondsPerStep;
    if (perStep === undefined || this.#mark === undefined) return undefined;
    const steps = Math.max(0, total - this.#mark.step);
    const evaluating = this.#evalSteps > 0 ? (steps * this.#evalSeconds) / this.#evalSteps : 0;
    return Math.max(0, steps * perStep + evaluating - Math.max(0, at - this.#mark.at - this.#paused));
  }
}

const two = (n: number): string => String(n).padStart(2, "0");

/** `0:07`, `12:05`, `3:00:12`, `2d 03:14`. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "-:--";
  const whole = Math.max(0, Math.round(seconds));
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) return `${days}d ${two(hours)}:${two(minutes)}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** Steps a second, or where that would be a small number the time of one. */
export function formatPace(secondsPerStep: number): string {
  const rate = 1 / secondsPerStep;
  if (rate >= 10) return `${formatRate(rate)} steps/s`;
  if (secondsPerStep < 1) return `${(1000 * secondsPerStep).toFixed(0)} ms/step`;
  return secondsPerStep < 60 ? `${secondsPerStep.toFixed(1)} s/step` : `${formatDuration(secondsPerStep)} /step`;
}

/** `203`, `14.2k`, `1.5M`: something each second. */
export function formatRate(rate: number): string {
  if (rate >= 1e6) return `${(rate / 1e6).toFixed(1)}M`;
  if (rate >= 1e4) return `${(rate / 1e3).toFixed(1)}k`;
  return rate.toFixed(rate >= 99.95 ? 0 : 1);
}

/** `after 60 steps in 0:06`. A run that failed in a step need not have done it: then `at step 33, after 0:03`. */
export function howFar(status: string, step: number, elapsed: number): string {
  const time = formatDuration(elapsed);
  if (status === "error") return `${step === 0 ? "before the first step" : `at step ${step}`}, after ${time}`;
  return `after ${step} ${step === 1 ? "step" : "steps"} in ${time}`;
}
