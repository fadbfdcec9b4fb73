// Smoothing of noisy metrics for the eye; what other backends get stays as it is.

/** Exponential means by name, corrected for their beginning: the first one is the first value, not a tenth of it. */
export class Smoother {
  readonly #decays: Readonly<Record<string, number>>;
  readonly #means = new Map<string, { sum: number; weight: number }>();

  constructor(decays: Readonly<Record<string, number>>) {
    this.#decays = decays;
  }

  smooths(name: string): boolean {
    return Object.hasOwn(this.#decays, name);
  }

  /** The mean with this value in it. One that is not a number is shown as it is, and does not spoil those that follow. */
  next(name: string, value: number): number {
    const decay = this.#decays[name];
    if (decay === undefined || !Number.isFinite(value)) return value;
    const { sum, weight } = this.#means.get(name) ?? { sum: 0, weight: 0 };
    const mean = { sum: decay * sum + (1 - decay) * value, weight: decay * weight + (1 - decay) };
    this.#means.set(name, mean);
    return mean.sum / mean.weight;
  }

  clear(): void {
    this.#means.clear();
  }
}
