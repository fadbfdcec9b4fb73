// A training that takes steps on request, so that several contenders can take turns.
import { Trainer, type TrainerOptions } from "hookline";
import type { Loader } from "../../src/core/model.ts";
import { withNext } from "./turns.ts";

export class PacedRun {
  #steps = 0;
  #times: number[] = [];
  #begun: number | undefined;
  #continue: () => void = () => {};
  #done: (times: number[]) => void = () => {};
  readonly #ended: Promise<never>;

  constructor(options: TrainerOptions & { readonly train: Loader }) {
    const { train } = options;
    const paced = withNext(train, async () => {
      if (this.#begun !== undefined) this.#times.push(performance.now() - this.#begun);
      if (this.#times.length >= this.#steps) {
        this.#done(this.#times);
        await new Promise<void>((resolve) => (this.#continue = resolve));
      }
      this.#begun = performance.now();
      return train.next();
    });
    const trainer = new Trainer({ ...options, train: paced, signals: false, steps: 10 ** 9 });
    this.#ended = trainer.fit().then((result) => {
      throw new Error(`the run ended: ${result.status}`);
    });
    this.#ended.catch(() => undefined);
  }

  /** The milliseconds of each step. */
  take(steps: number): Promise<number[]> {
    const taken = new Promise<number[]>((resolve) => {
      this.#steps = steps;
      this.#times = [];
      this.#begun = undefined;
      this.#done = resolve;
      this.#continue();
    });
    return Promise.race([taken, this.#ended]);
  }
}
