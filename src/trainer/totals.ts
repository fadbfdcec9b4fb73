// Running sums on the device, moved to float64 totals on the host before float32 could lose anything.
import type { TypedArray } from "../core/arrays.ts";
import type { MaybePromise } from "../core/loader.ts";
import { chain } from "../core/maybe.ts";
import type { Buffer, Engine } from "../engines/engine.ts";
import type { SumsLayout } from "./programs/sums.ts";

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
