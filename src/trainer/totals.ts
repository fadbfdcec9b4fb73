// Running sums on the device, emptied into float64 totals on the host before float32 could lose anything.
import type { MaybePromise } from "../core/loader.ts";
import type { TypedArray } from "../core/arrays.ts";
import type { Buffer, Engine } from "../engines/engine.ts";
import type { SumsLayout } from "./programs/sums.ts";

/** Batches after which the device's sums are read and reset, if nobody asked earlier. */
const FLUSH_EVERY = 256;

export class Totals {
  readonly #engine: Engine;
  readonly #layout: SumsLayout;
  readonly #totals: Float64Array;
  #weight = 0;
  #batches = 0;
  /** The vector that goes into the next program. */
  sums: Buffer;

  constructor(engine: Engine, layout: SumsLayout) {
    this.#engine = engine;
    this.#layout = layout;
    this.#totals = new Float64Array(layout.size);
    this.sums = this.#zeros();
  }

  #zeros(): Buffer {
    return this.#engine.put({ data: new Float32Array(this.#layout.size), shape: [this.#layout.size] });
  }

  /** Takes the vector that a program returned, `weight` samples richer. */
  accept(sums: Buffer, weight: number, donated: boolean): MaybePromise<void> {
    if (!donated) this.#engine.free(this.sums);
    this.sums = sums;
    this.#weight += weight;
    return ++this.#batches % FLUSH_EVERY === 0 ? this.flush() : undefined;
  }

  /** Moves the device's sums to the host. */
  flush(): MaybePromise<void> {
    const taken = this.sums;
    this.sums = this.#zeros();
    const add = (values: TypedArray): void => {
      for (let i = 0; i < values.length; i++) this.#totals[i]! += values[i]!;
      this.#engine.free(taken);
    };
    const values = this.#engine.read(taken);
    if (values instanceof Promise) return values.then(add);
    add(values);
  }

  /** What is known on the host right now; flush first for everything. */
  compute(): { loss: number; metrics: Record<string, number> } {
    return this.#weight === 0 ? { loss: Number.NaN, metrics: {} } : this.#layout.compute(this.#totals, this.#weight);
  }

  get empty(): boolean {
    return this.#weight === 0;
  }

  reset(): void {
    this.#engine.free(this.sums);
    this.sums = this.#zeros();
    this.#totals.fill(0);
    this.#weight = 0;
    this.#batches = 0;
  }

  free(): void {
    this.#engine.free(this.sums);
  }
}
