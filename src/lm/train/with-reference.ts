// Preferences with what the reference says of them: a loader whose batches have two numbers more for each row.
import type { HostBatch, Loader, LoaderState, MaybePromise } from "../../core/model.ts";
import { chain } from "../../core/maybe.ts";

/** Logarithms of the probabilities that the reference gives the answers, by the number of the pair. */
export interface ReferenceScores {
  readonly chosen: ArrayLike<number>;
  readonly rejected: ArrayLike<number>;
}

export class WithReference implements Loader {
  readonly length: number | undefined;
  readonly #loader: Loader;
  readonly #scores: ReferenceScores;

  constructor(loader: Loader, scores: ReferenceScores) {
    this.#loader = loader;
    this.#scores = scores;
    this.length = loader.length;
  }

  begin(epoch: number, seed: number): void {
    this.#loader.begin(epoch, seed);
  }

  next(): MaybePromise<HostBatch | undefined> {
    return chain(this.#loader.next(), (batch) => batch && this.#completed(batch));
  }

  skip(): MaybePromise<boolean> {
    return this.#loader.skip();
  }

  state(): LoaderState {
    return this.#loader.state();
  }

  load(state: LoaderState): MaybePromise<void> {
    return this.#loader.load(state);
  }

  close(): MaybePromise<void> {
    return this.#loader.close?.();
  }

  #completed({ row, ...batch }: HostBatch): HostBatch {
    const rows = [...row!.data];
    const of = (scores: ArrayLike<number>) => ({
      data: Float32Array.from(rows, (each) => scores[each]!),
      shape: [rows.length],
    });
    return { ...batch, referenceChosen: of(this.#scores.chosen), referenceRejected: of(this.#scores.rejected) };
  }
}
