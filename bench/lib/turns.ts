// Trainers that take turns in one process, so that a busy or a slow moment meets all of them.
import type { Loader } from "../../src/core/model.ts";

/** Who may run; the others wait for their batch. The first turn begins when all have come. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #players: number;

  constructor(players = 2) {
    this.#players = players;
  }

  /** Hands over to the next one and waits for the turn to come back. */
  pass(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#goOn();
    });
  }

  /** For the one that is done: the others continue without it. */
  leave(): void {
    this.#players--;
    this.#goOn();
  }

  #goOn(): void {
    if (this.#waiting.length === this.#players) this.#waiting.shift()?.();
  }
}

/** The loader, asking for its turn with every batch; `took` receives the milliseconds between the turns: a step. */
export function inTurns(loader: Loader, turns: Turns, took: (ms: number) => void): Loader {
  let resumed: number | undefined;
  return withNext(loader, async () => {
    if (resumed !== undefined) took(performance.now() - resumed);
    await turns.pass();
    resumed = performance.now();
    return loader.next();
  });
}

/** The loader with another way to the next batch. */
export function withNext(loader: Loader, next: Loader["next"]): Loader {
  return {
    get length() {
      return loader.length;
    },
    begin: (epoch, seed) => loader.begin(epoch, seed),
    next,
    skip: () => loader.skip(),
    state: () => loader.state(),
    load: (state) => loader.load(state),
  };
}
