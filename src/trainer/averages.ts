// Averages of loss and metrics: over an epoch or an evaluation (`Totals`), and of single batches (`BatchMetrics`).
import type { TypedArray } from "../core/arrays.ts";
import type { MaybePromise } from "../core/model.ts";
import { chain } from "../core/maybe.ts";
import type { Buffer, Engine } from "../engines/engine.ts";
import type { SumsLayout } from "./programs/sums.ts";

// Running sums on the device, moved to float64 totals on the host before float32 could lose anything.

/** Batches after which the device's sums are moved. A count, never a reader, decides: looking must not change a bit. */
const MOVE_EVERY = 256;

export interface Averages {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface TotalsState {
  readonly totals: readonly number[];
  readonly weight: number;
  readonly batches: number;
  readonly sums: readonly number[];
}

export class Totals {
  readonly #engine: Engine;
  readonly #layout: SumsLayout;
  readonly #totals: Float64Array;
  #weight = 0;
  #batches = 0;
  /** The vector that goes into the next program. */
  sums: Buffer;
  /** What `read` found last, for events on engines that cannot read on demand. */
  last: Averages | undefined;

  constructor(engine: Engine, layout: SumsLayout) {
    this.#engine = engine;
    this.#layout = layout;
    this.#totals = new Float64Array(layout.size);
    this.sums = this.#zeros();
  }

  #zeros(): Buffer {
    return this.#engine.put({ data: new Float32Array(this.#layout.size), shape: [this.#layout.size] });
  }

  /** Takes the vector that a program returned, `weight` richer. */
  accept(sums: Buffer, weight: number, donated: boolean): MaybePromise<void> {
    if (!donated) this.#engine.free(this.sums);
    this.sums = sums;
    this.#weight += weight;
    return ++this.#batches % MOVE_EVERY === 0 ? this.#move() : undefined;
  }

  /** Adds what several processes have counted together, which is on the host already. */
  add(sums: Float32Array, weight: number): void {
    for (let i = 0; i < sums.length; i++) this.#totals[i]! += sums[i]!;
    this.#weight += weight;
  }

  #move(): MaybePromise<void> {
    const taken = this.sums;
    this.sums = this.#zeros();
    return chain(this.#engine.read(taken), (values: TypedArray) => {
      for (let i = 0; i < values.length; i++) this.#totals[i]! += values[i]!;
      this.#engine.free(taken);
    });
  }

  /** Averages over everything so far; undefined when there is nothing. */
  read(): MaybePromise<Averages | undefined> {
    if (this.#weight === 0) return (this.last = undefined);
    const weight = this.#weight;
    return chain(this.#engine.read(this.sums), (values: TypedArray) => {
      const totals = this.#totals.map((total, i) => total + values[i]!);
      return (this.last = this.#layout.compute(totals, weight));
    });
  }

  /** The same over what several processes have counted, each its part: `sum` adds up their vectors. */
  async readAll(sum: (values: Float64Array) => MaybePromise<void>): Promise<Averages | undefined> {
    const values = await this.#engine.read(this.sums);
    const all = Float64Array.from([...this.#totals.map((total, i) => total + values[i]!), this.#weight]);
    await sum(all);
    const weight = all.at(-1)!;
    return weight === 0 ? undefined : this.#layout.compute(all.subarray(0, -1), weight);
  }

  /** Everything, as plain numbers; JSON keeps float32 and float64 exactly. */
  state(): MaybePromise<TotalsState> {
    const [totals, weight, batches] = [[...this.#totals], this.#weight, this.#batches];
    return chain(this.#engine.read(this.sums), (values: TypedArray) => ({
      totals,
      weight,
      batches,
      sums: [...values],
    }));
  }

  /** False when these are the sums of other metrics: then there is nothing to go on from. */
  load({ totals, weight, batches, sums }: TotalsState): boolean {
    this.reset();
    const { size } = this.#layout;
    if (totals.length !== size || sums.length !== size) return false;
    this.#totals.set(totals);
    this.#weight = weight;
    this.#batches = batches;
    this.#engine.free(this.sums);
    this.sums = this.#engine.put({ data: Float32Array.from(sums), shape: [size] });
    return true;
  }

  reset(): void {
    this.#engine.free(this.sums);
    this.sums = this.#zeros();
    this.#totals.fill(0);
    this.#weight = 0;
    this.#batches = 0;
    this.last = undefined;
  }

  free(): void {
    this.#engine.free(this.sums);
  }
}

// Metrics of single batches, computed from the sums that a program returned for that batch. Read only when someone looks.

/** Of a batch that was skipped, or that weighs nothing. */
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

  /** Takes over the sums of the batch at hand; undefined from a program that nobody asked for them. */
  set(sums: Buffer | undefined, weight: number): void {
    this.drop();
    if (sums) this.#last = new BatchSums(this.#engine, sums, weight);
  }

  /** The batch at hand is part of the step. */
  keep(): void {
    if (this.#last) this.#kept.push(this.#last);
  }

  /** The batch at hand was skipped, or another one follows. */
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
