// A curve smoothed by half-life: the mean of all points before, each with half the weight of one that is a half-life
// later. It is computed over all points before any are left out, so that it does not depend on the zoom.

/** Smooths a growing curve; only new points are computed. */
export class Smoothing {
  readonly halfLife: number;
  #smoothed: Float64Array = new Float64Array(0);
  #count = 0;
  #mean = NaN;
  /** The sum of the weights of the values in the mean, at the last position. */
  #weight = 0;
  #lastX = NaN;

  constructor(halfLife: number) {
    this.halfLife = halfLife;
  }

  /** Smoothed values of the first `count` points. A missing or infinite value leaves the mean as it is. */
  extend(values: Float64Array, count: number, x: (index: number) => number): Float64Array {
    if (count > this.#smoothed.length) {
      const larger = new Float64Array(Math.max(count, 2 * this.#smoothed.length));
      larger.set(this.#smoothed.subarray(0, this.#count));
      this.#smoothed = larger;
    }
    let [distance, decay] = [0, 1];
    for (; this.#count < count; this.#count++) {
      const [at, value] = [x(this.#count), values[this.#count]!];
      // On an axis that goes back, after a rollback, nothing fades. Most distances are equal: one power serves them all.
      const passed = at > this.#lastX ? at - this.#lastX : 0;
      if (passed !== distance) [distance, decay] = [passed, 2 ** (-passed / this.halfLife)];
      if (!Number.isNaN(at)) this.#lastX = at;
      this.#weight *= decay;
      if (Number.isFinite(value)) {
        this.#weight++;
        this.#mean = Number.isNaN(this.#mean) ? value : this.#mean + (value - this.#mean) / this.#weight;
      }
      this.#smoothed[this.#count] = this.#mean;
    }
    return this.#smoothed;
  }

  get bytes(): number {
    return this.#smoothed.byteLength;
  }
}
