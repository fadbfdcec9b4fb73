// What trials say, in the order in which they said it, for one who reads it when it can.
export class Mailbox<T> {
  readonly #messages: T[] = [];
  #wake: (() => void) | undefined;

  push(message: T): void {
    this.#messages.push(message);
    this.wake();
  }

  /** Lets who waits look around, though nothing was said. */
  wake(): void {
    this.#wake?.();
  }

  /** The next message; undefined when woken without one. */
  async next(): Promise<T | undefined> {
    if (this.#messages.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    return this.#messages.shift();
  }
}
