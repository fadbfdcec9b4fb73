// What a hook has put in place in a run, so that it acts when this changes and not in every step.

export class Applied<T> {
  readonly #none: T;
  #value: T | undefined;

  /** `none` is what holds without the hook. */
  constructor(none: T) {
    this.#none = none;
    this.#value = none;
  }

  /** For `trainBegin`: a new call of fit may have a new engine, which knows nothing of what was put in place. */
  renew(): void {
    if (this.#value !== this.#none) this.#value = undefined;
  }

  /** Takes the value; true when it must be put in place. */
  take(value: T): boolean {
    if (this.#value === value) return false;
    this.#value = value;
    return true;
  }

  /** For a checkpoint; null when it must be put in place anew. */
  state(): T | null {
    return this.#value ?? null;
  }

  load(value: T | null): void {
    this.#value = value ?? undefined;
  }
}
