// One call after the other, in the order in which they came: a prune must not overtake the save before it.
import { CheckpointError } from "../core/errors.ts";

export class Turns {
  readonly #place: string;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** `place` is what an error about a closed store names. */
  constructor(place: string) {
    this.#place = place;
  }

  async take<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#closed) throw new CheckpointError(this.#place, "the store is closed", "Open it again.");
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Lets those that wait have their turn, and no others. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
  }
}
