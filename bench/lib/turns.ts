// Two trainers that take turns step by step in one process, so that a busy or a slow moment meets both.
import type { Loader } from "../../src/core/loader.ts";

/** Who may take a step; the other waits for its batch. */
export class Turns {
  #waiting: (() => void) | undefined;

  /** Hands over to the other one and waits for the turn to come back. */
  pass(): Promise<void> {
    const other = this.#waiting;
    return new Promise((resolve) => {
      this.#waiting = resolve;
      other?.();
    });
  }

  /** For the one that is done: the other goes on alone. */
  leave(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}

/** The loader, asking for its turn with every batch; `took` is told the milliseconds between the turns: a step. */
export function inTurns(loader: Loader, turns: Turns, took: (ms: number) => void): Loader {
  let resumed: number | undefined;
  return {
    get length() {
      return loader.length;
    },
    begin: (epoch, seed) => loader.begin(epoch, seed),
    async next() {
      if (resumed !== undefined) took(performance.now() - resumed);
      await turns.pass();
      resumed = performance.now();
      return loader.next();
    },
    skip: () => loader.skip(),
    state: () => loader.state(),
    load: (state) => loader.load(state),
  };
}
