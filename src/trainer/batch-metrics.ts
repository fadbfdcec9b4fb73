// Metrics of single batches, computed from the sums that a program returned for that batch. Read when a hook asks.
import type { TypedArray } from "../core/arrays.ts";
import type { MaybePromise } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import type { Buffer, Engine } from "../engines/engine.ts";
import type { Averages, SumsLayout } from "./programs/sums.ts";

/** Of a batch that was skipped, or has no weight. */
const NONE: Averages = { loss: Number.NaN, metrics: {} };

/** The sums of one batch: on the device until they are read. */
class BatchSums {
  readonly weight: number;
  readonly #engine: Engine;
  readonly #buffer: Buffer;
  #values: TypedArray | undefined;

  constructor(engine: Engine, buffer: Buffer, weight: number) {
    this.#engine = engine;
    this.#buffer = buffer;
    this.weight = weight;
  }

  read(): MaybePromise<void> {
    if (this.#values) return undefined;
    return chain(this.#engine.read(this.#buffer), (values: TypedArray) => void (this.#values = values));
  }

  get values(): TypedArray {
    if (!this.#values) void this.read();
    return this.#values!;
  }

  free(): void {
    this.#engine.free(this.#buffer);
  }
}

export class BatchMetrics {
  readonly #engine: Engine;
  readonly #layout: SumsLayout;
  #last: BatchSums | undefined;
  /** Batches that are part of the open step. */
  readonly #kept: BatchSums[] = [];
  #joined: { readonly sums: Float32Array; readonly weight: number } | undefined;

  constructor(engine: Engine, layout: SumsLayout) {
    this.#engine = engine;
    this.#layout = layout;
  }

  /** Takes over the sums of the current batch; `keeps`: it is part of the step. */
  set(sums: Buffer | undefined, weight: number, keeps = false): void {
    this.drop();
    if (sums) this.#last = new BatchSums(this.#engine, sums, weight);
    if (keeps) this.keep();
  }

  /** The current batch is part of the step. */
  keep(): void {
    if (this.#last) this.#kept.push(this.#last);
  }

  /** The current batch was skipped, or another one follows. */
  drop(): void {
    if (this.#last && !this.#kept.includes(this.#last)) this.#last.free();
    this.#last = undefined;
  }

  /** The sums of the whole step, where this process computed only a part of it. */
  join(joined: { readonly sums: Float32Array; readonly weight: number }): void {
    this.#joined = joined;
  }

  /** Reads everything, on engines that cannot read on demand. */
  settle(): MaybePromise<void> {
    if (this.#engine.syncRead || (!this.#last && this.#kept.length === 0)) return undefined;
    const all = new Set([...this.#kept, ...(this.#last ? [this.#last] : [])]);
    return Promise.all([...all].map(async (each) => each.read())).then(() => undefined);
  }

  get batch(): Averages {
    return this.#of(this.#last ? [this.#last] : []);
  }

  get step(): Averages {
    if (this.#joined) return this.#layout.compute(Float64Array.from(this.#joined.sums), this.#joined.weight);
    return this.#of(this.#kept);
  }

  #of(batches: readonly BatchSums[]): Averages {
    const weight = batches.reduce((sum, each) => sum + each.weight, 0);
    if (weight === 0) return NONE;
    const totals = new Float64Array(this.#layout.size);
    for (const { values } of batches) for (let i = 0; i < totals.length; i++) totals[i]! += values[i]!;
    return this.#layout.compute(totals, weight);
  }

  free(): void {
    this.drop();
    for (const each of this.#kept) each.free();
    this.#kept.length = 0;
    this.#joined = undefined;
  }
}
