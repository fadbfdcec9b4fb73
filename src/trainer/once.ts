// Something that is made when it is first asked for: one for all who ask meanwhile, until it is taken away.

export class Once<T> {
  readonly #make: () => Promise<T>;
  #making: Promise<T> | undefined;
  /** What there is now; undefined while it is being made. */
  now: T | undefined;

  constructor(make: () => Promise<T>) {
    this.#make = make;
  }

  async get(): Promise<T> {
    const making = (this.#making ??= this.#make());
    try {
      const made = await making;
      // Taken away meanwhile, and so of no use any longer.
      if (this.#making !== making) return await this.get();
      return (this.now = made);
    } catch (error) {
      // The next who asks may have more luck.
      if (this.#making === making) this.#making = undefined;
      throw error;
    }
  }

  /** Takes it away, whoever has asked for it: to be freed or closed. Resolves when it is made, if it is being made. */
  async take(): Promise<T | undefined> {
    const making = this.#making;
    this.#making = this.now = undefined;
    // Those who asked for it are told why it could not be made.
    return making?.catch(() => undefined);
  }
}
