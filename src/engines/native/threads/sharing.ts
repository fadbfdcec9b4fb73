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
/** A trial with all ends with its first run that takes so many times as long as those before: more would only cost more. */
const HOPELESS = 1.5;
/** A trial with one fewer takes longer: at first its threads may share a core with what disturbs, until the system moves them. */
const TRIAL_MS = 3 * WINDOW_MS;
/** Windows between two trials of one fewer. Doubled after each that did not pay, up to the most. */
const FIRST_RETRY = 8;
const MOST_RETRY = 80;
/** Windows between two trials of all, which cost one run. */
const RETRY_ALL = 30;

export class Sharing {
  #isTrial = false;
  #withAll = true;
  #ms = 0;
  #runs = 0;
  /** The fastest run of the window. */
  #fastest = Infinity;
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
    this.#fastest = Math.min(this.#fastest, ms);
    if (this.#withAll) this.#least = Math.min(this.#least, ms);
    const isHopeless = this.#isTrial && this.#withAll && ms > HOPELESS * this.#before;
    const window = this.#isTrial && !this.#withAll ? TRIAL_MS : WINDOW_MS;
    if (!isHopeless && (this.#ms < window || this.#runs < WINDOW_RUNS)) return;
    const mean = this.#ms / this.#runs;
    const fastest = this.#fastest;
    this.#sinceTrial++;
    this.#ms = this.#runs = 0;
    this.#fastest = Infinity;
    if (this.#isTrial) this.#judge(isHopeless ? Infinity : this.#withAll ? mean : fastest);
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

  #judge(ms: number): void {
    this.#isTrial = false;
    this.#sinceTrial = 0;
    this.#disturbed = 0;
    const isBetter = ms < WORTH_CHANGING * this.#before;
    if (!isBetter) this.#withAll = !this.#withAll;
    if (!this.#withAll) this.#retry = RETRY_ALL;
    else this.#retry = isBetter ? FIRST_RETRY : Math.min(2 * this.#retry, MOST_RETRY);
  }
}
