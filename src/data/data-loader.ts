// The built-in loader: batches of arrays, data sets and streams, in an order that resumes exactly.
import type { ArrayInput, HostArray } from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import type { HostBatch, Loader, LoaderState, MaybePromise, Share } from "../core/model.ts";
import { checkOptions, is } from "../core/options.ts";
import { type DTypes, type DataSource, type Sample, toSource } from "./source.ts";
import { chain, guard, isPromise, quiet } from "../core/maybe.ts";
import type { Made, Reader, Reading, Source } from "./reader.ts";
import { BUCKETS_CHECK, type Buckets } from "./sampling/buckets.ts";
import { SAMPLING_CHECK, type Sampling } from "./sampling/sampling.ts";
import { cutShare, type Part, rowsOfPart } from "./share.ts";

/** Options of `DataLoader`. */
export interface DataLoaderOptions<S extends object = Sample> {
  /** Samples in a batch. Required, except for a stream of ready batches. */
  readonly batchSize?: number;
  /** A new order every epoch, a function of the seed and the epoch. Default false. */
  readonly shuffle?: boolean;
  /** Leave out the last batch when it is not full. Default false. */
  readonly dropLast?: boolean;
  /** Replaces the trainer's seed. */
  readonly seed?: number;
  /** Makes a batch of samples. Default: stacks them field by field. */
  readonly collate?: (samples: readonly S[]) => Readonly<Record<string, ArrayInput>>;
  /** The type of plain numbers, by field, such as `{ y: "int32" }` for class labels. Default float32. */
  readonly dtypes?: DTypes;
  /**
   * Draws the samples of an epoch by weight, or spreads classes evenly over its batches; replaces `shuffle`.
   * `{ weights: "weight" }`, `{ balanced: "y" }` or `{ stratified: "y" }`, with a field or the numbers of all samples.
   */
  readonly sampling?: Sampling;
  /** Puts samples of similar length into a batch and pads them: `{ by: "tokens", lengths: [32, 64], pad: { tokens: 0 } }`. */
  readonly buckets?: Buckets;
  /** Batches fetched ahead when the data is asynchronous. Default 0. */
  readonly prefetch?: number;
}

const isDType = is.oneOf("float32", "int32", "uint32", "bool");

export const DATA_LOADER_CHECKS = {
  batchSize: is.wholeFrom(1),
  shuffle: is.boolean,
  dropLast: is.boolean,
  seed: is.wholeFrom(0),
  collate: is.function,
  dtypes: {
    expected: `an object from field names to ${isDType.expected}`,
    schema: { type: "object", additionalProperties: isDType.schema! },
    test: (v: unknown) => is.object.test(v) && Object.values(v as object).every(isDType.test),
  },
  sampling: SAMPLING_CHECK,
  buckets: BUCKETS_CHECK,
  prefetch: is.wholeFrom(0),
};

/** One pass over the data: what was consumed, and what was read ahead of it. */
interface Pass {
  readonly epoch: number;
  readonly seed: number;
  readonly reader: Reader;
  readonly ahead: Reading[];
  /** The share of each batch that is read, if not the whole. */
  part: Part | undefined;
  batches: number;
  samples: number;
}

/**
 * Cuts data into batches.
 * @example new DataLoader({ x, y }, { batchSize: 128, shuffle: true })
 */
export class DataLoader<S extends object = Sample> implements Loader {
  readonly length: number | undefined;
  readonly #source: Source;
  readonly #seed: number | undefined;
  readonly #prefetch: number;
  #pass: Pass | undefined;

  constructor(data: DataSource<S>, options: DataLoaderOptions<S> = {}) {
    checkOptions("DataLoader", options, DATA_LOADER_CHECKS);
    const { batchSize, shuffle = false, dropLast = false, dtypes, collate, sampling, buckets } = options;
    this.#source = toSource(data, { batchSize, shuffle, dropLast, dtypes, collate, sampling, buckets });
    this.#seed = options.seed;
    this.#prefetch = options.prefetch ?? 0;
    this.length = this.#source.length;
  }

  /** All values of a field, if the data is in memory. */
  column(field: string): HostArray | undefined {
    return this.#source.column?.(field);
  }

  begin(epoch: number, seed: number): void {
    quiet(this.close());
    const own = this.#seed ?? seed;
    this.#pass = {
      epoch,
      seed: own,
      reader: this.#source.open(epoch, own),
      ahead: [],
      part: undefined,
      batches: 0,
      samples: 0,
    };
  }

  next(): MaybePromise<HostBatch | undefined> {
    return chain(this.#take(undefined), (made) => made?.batch);
  }

  reuse(batch: HostBatch): void {
    // A class of the user's own may have kept the batch.
    if (Object.getPrototypeOf(this) === DataLoader.prototype) this.#source.reuse?.(batch);
  }

  nextShare(rank: number, size: number): MaybePromise<Share | undefined> {
    const part = { rank, size };
    if (!this.#source.makesParts) return chain(this.#take(undefined), (made) => made && cutShare(made.batch, part));
    return chain(this.#take(part), (made) => made && { ...made, empty: rowsOfPart(0, made.samples, part).empty });
  }

  #take(part: Part | undefined): MaybePromise<Made | undefined> {
    const pass = this.#begun();
    return guard(
      () => {
        this.#useParts(pass, part);
        const reading = pass.ahead.shift() ?? pass.reader.read(part);
        if (isPromise(reading.made)) this.#readAhead(pass);
        return chain(reading.made, (made) => this.#consume(pass, made));
      },
      (cause) => this.#retry(pass, cause),
    );
  }

  /** Batches that were read ahead for another share are discarded and read again. */
  #useParts(pass: Pass, part: Part | undefined): void {
    if (pass.part?.rank === part?.rank && pass.part?.size === part?.size) return;
    pass.part = part;
    if (pass.ahead.length === 0) return;
    for (const { made } of pass.ahead.splice(0)) quiet(made);
    quiet(pass.reader.seek(pass));
  }

  skip(): MaybePromise<boolean> {
    const pass = this.#begun();
    return guard(
      () => {
        const reading = pass.ahead.shift();
        const passed = reading
          ? (reading.samples ?? chain(reading.made, (made) => made?.samples ?? 0))
          : pass.reader.skip();
        return chain(passed, (samples) => {
          if (samples === 0) return false;
          pass.batches++;
          pass.samples += samples;
          return true;
        });
      },
      (cause) => this.#retry(pass, cause),
    );
  }

  state(): LoaderState {
    const { epoch, batches, samples } = this.#pass ?? { epoch: 0, batches: 0, samples: 0 };
    return { epoch, batches, samples };
  }

  load(state: LoaderState): MaybePromise<void> {
    for (const key of ["epoch", "batches", "samples"] as const) {
      if (!is.wholeFrom(0).test(state[key])) {
        throw new DataError(`DataLoader: this is not a saved position: \`${key}\` is ${String(state[key])}.`);
      }
    }
    this.begin(state.epoch, this.#begun().seed);
    const pass = this.#begun();
    pass.batches = state.batches;
    pass.samples = state.samples;
    return pass.reader.seek(state);
  }

  close(): MaybePromise<void> {
    const pass = this.#pass;
    this.#pass = undefined;
    return pass?.reader.close();
  }

  #begun(): Pass {
    if (this.#pass) return this.#pass;
    throw new DataError("DataLoader: no epoch is open. Call `begin(epoch, seed)` first.");
  }

  /** A failed batch was not consumed: if the data can be rewound, the next call reads it again. */
  #retry(pass: Pass, cause: unknown): never {
    if (this.#source.rewinds) {
      pass.ahead.length = 0;
      quiet(pass.reader.seek(pass));
    }
    throw cause;
  }

  #readAhead(pass: Pass): void {
    while (pass.ahead.length < this.#prefetch) {
      let reading: Reading;
      try {
        reading = pass.reader.read(pass.part);
      } catch (cause) {
        // The error belongs to this batch, so it is thrown when that is requested.
        reading = { made: Promise.reject(cause) };
      }
      if (reading.made === undefined) return;
      quiet(reading.made);
      pass.ahead.push(reading);
    }
  }

  #consume(pass: Pass, made: Made | undefined): Made | undefined {
    if (made === undefined) {
      if (pass.batches > 0) return undefined;
      throw new DataError(
        "DataLoader: the stream ended before its first batch. Is it empty, or was it read before? Give a function that makes a new one for each epoch.",
      );
    }
    pass.batches++;
    pass.samples += made.samples;
    return made;
  }
}
