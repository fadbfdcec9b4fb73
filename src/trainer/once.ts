// Something that is made at the first request, once for all callers, until it is taken away.

export class Once<T> {
  readonly #make: () => Promise<T>;
  #making: Promise<T> | undefined;
  /** Undefined while it is being made. */
  now: T | undefined;

  constructor(make: () => Promise<T>) {
    this.#make = make;
  }

  async get(): Promise<T> {
    const making = (this.#making ??= this.#make());
    try {
      const made = await making;
      // Taken away meanwhile.
      if (this.#making !== making) return await this.get();
      return (this.now = made);
    } catch (error) {
      // The next call tries once more.
      if (this.#making === making) this.#making = undefined;
      throw error;
    }
  }

  /** Takes it away, to be freed or closed. Resolves when it is made, if it is being made. */
  async take(): Promise<T | undefined> {
    const making = this.#making;
    this.#making = this.now = undefined;
    // Callers of `get` receive the error.
    return making?.catch(() => undefined);
  }
}
