// Whether all threads help with a program, or one fewer. Every step ends with its last thread, so beside a busy process a
// program may be faster without the thread that has no core of its own. Only times of this program on this machine decide.

/** Runs that are judged together: so many milliseconds, several turns of a busy core's processes … */
const WINDOW_MS = 20;
/** … and so many runs. */
const WINDOW_RUNS = 3;
/** This much slower than the fastest run ever: something disturbs. */
const DISTURBED = 1.5;
/** Windows in a row that are disturbed before one fewer is tried: a short disturbance is waited out. */
const PATIENCE = 2;
/** How much faster the other way must be. */
const WORTH_CHANGING = 0.92;
/** Windows between two trials of the other way. Doubled after each trial that did not pay, up to the most. */
const FIRST_RETRY = 20;
const MOST_RETRY = 80;

export class Sharing {
  #isTrial = false;
  #withAll = true;
  #ms = 0;
  #runs = 0;
  /** The fastest run with all. */
  #least = Infinity;
  /** The mean of the window before a trial. */
  #before = 0;
  #disturbed = 0;
  #sinceTrial = Infinity;
  #retry = FIRST_RETRY;

  get withAll(): boolean {
    return this.#withAll;
  }

  /** That a run has taken so long. */
  tell(ms: number): void {
    this.#ms += ms;
    this.#runs++;
    if (this.#withAll) this.#least = Math.min(this.#least, ms);
    if (this.#ms < WINDOW_MS || this.#runs < WINDOW_RUNS) return;
    const mean = this.#ms / this.#runs;
    this.#sinceTrial++;
    this.#ms = this.#runs = 0;
    if (this.#isTrial) this.#judge(mean);
    else if (this.#isTimeForTrial(mean)) this.#try(mean);
  }

  #isTimeForTrial(mean: number): boolean {
    if (!this.#withAll) return this.#sinceTrial >= this.#retry;
    this.#disturbed = mean > DISTURBED * this.#least ? this.#disturbed + 1 : 0;
    return this.#disturbed >= PATIENCE && this.#sinceTrial >= this.#retry;
  }

  #try(mean: number): void {
    this.#before = mean;
    this.#isTrial = true;
    this.#withAll = !this.#withAll;
  }

  #judge(mean: number): void {
    this.#isTrial = false;
    this.#sinceTrial = 0;
    this.#disturbed = 0;
    const isBetter = mean < WORTH_CHANGING * this.#before;
    if (!isBetter) this.#withAll = !this.#withAll;
    this.#retry = isBetter ? FIRST_RETRY : Math.min(2 * this.#retry, MOST_RETRY);
  }
}
