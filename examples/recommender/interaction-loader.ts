// A loader that goes through all interactions once an epoch, in a new order each time, and leaves it to a function what
// a batch of them looks like.
import { type HostBatch, type Loader, type LoaderState, Rng } from "hookline/data";

/** Makes a batch of some rows. Whatever it draws, it draws from `rng`. */
export type MakeBatch = (rows: Uint32Array, rng: Rng) => HostBatch;

/** The last batch of an epoch is left out when it is not full: another shape would have to be compiled. */
export class InteractionLoader implements Loader {
  readonly length: number;
  readonly #count: number;
  readonly #batchSize: number;
  readonly #make: MakeBatch;
  #order: Uint32Array = new Uint32Array();
  #epoch = 0;
  #seed = 0;
  #batch = 0;

  constructor(count: number, batchSize: number, make: MakeBatch) {
    this.length = Math.floor(count / batchSize);
    if (this.length === 0) throw new Error(`${count} interactions do not fill one batch of ${batchSize}.`);
    this.#count = count;
    this.#batchSize = batchSize;
    this.#make = make;
  }

  begin(epoch: number, seed: number): void {
    [this.#epoch, this.#seed, this.#batch] = [epoch, seed, 0];
    this.#order = shuffled(this.#count, new Rng(seed, epoch));
  }

  next(): HostBatch | undefined {
    if (this.#batch >= this.length) return undefined;
    // A function of seed, epoch and batch alone: a run resumed in the middle of an epoch draws the same samples.
    const rng = new Rng(this.#seed, this.#epoch, this.#batch);
    const start = this.#batch++ * this.#batchSize;
    return this.#make(this.#order.subarray(start, start + this.#batchSize), rng);
  }

  skip(): boolean {
    if (this.#batch >= this.length) return false;
    this.#batch++;
    return true;
  }

  state(): LoaderState {
    return { epoch: this.#epoch, batches: this.#batch, samples: this.#batch * this.#batchSize };
  }

  load({ epoch, batches }: LoaderState): void {
    this.begin(epoch, this.#seed);
    this.#batch = batches;
  }
}

function shuffled(count: number, rng: Rng): Uint32Array {
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const j = rng.int(i + 1);
    order[i] = order[j]!;
    order[j] = i;
  }
  return order;
}
