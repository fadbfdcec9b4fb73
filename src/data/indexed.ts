// Data with a length and an index: arrays and data sets. Any batch can be made from its position in the epoch's order.
import { DataError } from "../core/errors.ts";
import type { HostBatch, MaybePromise } from "../core/model.ts";
import { all, chain, guard, messageOf, quiet } from "../core/maybe.ts";
import { Rng, permutation } from "./random.ts";
import type { Reader, Reading, Source } from "./reader.ts";
import { rowsOfPart } from "./share.ts";
import { type ArrayInput, type HostArray, sizeOf, toHostArray, type TypedArray } from "../core/arrays.ts";

/** A part of an epoch: positions `from` … `to` of `order` (undefined: the order of the data). */
export interface Span {
  readonly order: Uint32Array | undefined;
  readonly from: number;
  readonly to: number;
  readonly epoch: number;
  readonly seed: number;
  /** The length that samples are padded to, where they are put into buckets by length. */
  readonly padTo: number | undefined;
}

/** The order of every epoch and its batches: functions of epoch and seed, whatever was read before. */
export interface EpochPlans {
  /** Batches in an epoch. */
  readonly length: number;
  /** The position behind a batch, in the epoch's order; 0 for the one before the first. */
  end(batch: number, epoch: number, seed: number): number;
  /** The samples in their order; undefined: the order of the data. */
  order(epoch: number, seed: number): Uint32Array | undefined;
  /** The length that the samples of a batch are padded to. */
  padTo?(batch: number, epoch: number, seed: number): number;
}

/** Batches of one size, in the order of the data, shuffled, or in an order of their own. */
export function evenPlans(
  count: number,
  {
    batchSize,
    shuffle,
    dropLast,
  }: { readonly batchSize: number; readonly shuffle: boolean; readonly dropLast: boolean },
  ownOrder?: (epoch: number, seed: number) => Uint32Array,
): EpochPlans {
  if (count === 0) throw new DataError("DataLoader: the data has no samples.");
  const length = dropLast ? Math.floor(count / batchSize) : Math.ceil(count / batchSize);
  if (length === 0) {
    throw new DataError(
      `DataLoader: \`dropLast\` leaves no batch, because ${count} samples do not fill one of ${batchSize}.`,
    );
  }
  const make = ownOrder ?? (shuffle ? (epoch: number, seed: number) => permutation(count, seed, epoch) : undefined);
  let cached: { order: Uint32Array; epoch: number; seed: number } | undefined;
  return {
    length,
    end: (batch) => Math.min((batch + 1) * batchSize, count),
    order(epoch, seed) {
      if (make && (cached?.epoch !== epoch || cached.seed !== seed)) cached = { order: make(epoch, seed), epoch, seed };
      return cached?.order;
    },
  };
}

/** Batches cut from arrays by field. */
export function arraySource(rows: Rows, batchSize: number, plans: EpochPlans): Source {
  /** Arrays of the last batch that was given back, by field. */
  let spare: HostBatch = {};
  const source = indexedSource(rows.count, batchSize, plans, ({ order, from, to }) => {
    const taken = spare;
    spare = {};
    return gather(rows, order, from, to, taken);
  });
  return { ...source, column: (field) => rows.fields[field], reuse: (batch) => void (spare = batch) };
}

/** A source of `count` samples in batches made by `make`. */
export function indexedSource(
  count: number,
  batchSize: number,
  plans: EpochPlans,
  make: (span: Span) => MaybePromise<HostBatch>,
): Source {
  function open(epoch: number, seed: number): Reader {
    /** Batches taken. */
    let taken = 0;
    const take = (): { batch: number; from: number; to: number } => {
      const [batch, from] = [taken, plans.end(taken - 1, epoch, seed)];
      if (taken >= plans.length) return { batch, from, to: from };
      return { batch, from, to: plans.end(taken++, epoch, seed) };
    };
    return {
      read(part): Reading {
        const { batch, from, to } = take();
        const samples = to - from;
        if (samples === 0) return { made: undefined, samples };
        const rows = part ? rowsOfPart(from, to, part) : { from, to };
        const padTo = plans.padTo?.(batch, epoch, seed);
        const made = make({ order: plans.order(epoch, seed), from: rows.from, to: rows.to, epoch, seed, padTo });
        return { made: chain(made, (rowsMade) => ({ batch: rowsMade, samples })), samples };
      },
      skip() {
        const { from, to } = take();
        return to - from;
      },
      seek({ batches, samples }) {
        if (samples !== plans.end(batches - 1, epoch, seed)) {
          throw new DataError(
            `DataLoader: a position after ${batches} batches and ${samples} samples does not fit ${count} samples in batches of ${batchSize}. Resume in mid-epoch with the data and the batchSize of the save.`,
          );
        }
        taken = batches;
      },
      close() {},
    };
  }
  return { length: plans.length, rewinds: true, makesParts: true, open };
}

/** Data behind an index, such as files in a folder. */
export interface Dataset<S> {
  readonly length: number;
  /** Sample `index`. For exact resume, anything random must come from `rng`, a function of seed, epoch and index. */
  get(index: number, context: { readonly rng: Rng }): MaybePromise<S>;
}

/** Separates the generators of samples from the one that shuffles. */
const SAMPLE_KEY = 1;

/** Fetches the samples of a span, all at once if they are asynchronous. */
export function fetchSamples<S>(dataset: Dataset<S>, { order, from, to, epoch, seed }: Span): MaybePromise<S[]> {
  const pending: MaybePromise<S>[] = [];
  for (let place = from; place < to; place++) {
    const index = order === undefined ? place : order[place]!;
    const sample = guard(
      () => dataset.get(index, { rng: new Rng(seed, epoch, SAMPLE_KEY, index) }),
      (cause) => {
        for (const other of pending) quiet(other);
        throw new DataError(`DataLoader: sample ${index} could not be read: ${messageOf(cause)}`, { cause });
      },
    );
    pending.push(sample);
  }
  return all(pending);
}

const constructors = {
  Float32Array,
  Float64Array,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
} as const;

/** A new array of the same element type. By tag, not by constructor: a Node `Buffer` must become a Uint8Array. */
export function allocateLike(data: TypedArray, length: number): TypedArray {
  return new constructors[data[Symbol.toStringTag]](length);
}

export interface Rows {
  readonly fields: HostBatch;
  readonly count: number;
}

/** Checks a record of arrays: at least one, and all with the same number of samples. */
export function toRows(what: string, record: Readonly<Record<string, ArrayInput>>): Rows {
  const fields: HostBatch = {};
  let first: string | undefined;
  for (const [name, value] of Object.entries(record)) {
    const array = toHostArray(value, `${what}: \`${name}\``);
    if (array.shape.length === 0)
      throw new DataError(`${what}: \`${name}\` is a scalar; its first dimension must be the sample.`);
    fields[name] = array;
    first ??= name;
    const [count, expected] = [array.shape[0]!, fields[first]!.shape[0]!];
    if (count !== expected) {
      throw new DataError(
        `${what}: \`${first}\` has ${expected} samples but \`${name}\` has ${count}. The first dimension of all must be the same.`,
      );
    }
  }
  if (first === undefined) throw new DataError(`${what}: has no fields. Give arrays by name, such as { x, y }.`);
  return { fields, count: fields[first]!.shape[0]! };
}

/** Below this, a loop over the elements is faster than making a view of the row. */
const LONG_ROW = 24;

/** `spare`: an array that may be filled, if it fits. */
function gatherRows(
  source: HostArray,
  order: Uint32Array | undefined,
  from: number,
  to: number,
  spare: TypedArray | undefined,
): HostArray {
  const { data, shape, dtype } = source;
  const row = sizeOf(shape.slice(1));
  const length = (to - from) * row;
  const fits = spare?.length === length && spare[Symbol.toStringTag] === data[Symbol.toStringTag];
  const out = fits ? spare : allocateLike(data, length);
  if (order === undefined) out.set(data.subarray(from * row, to * row));
  else if (row < LONG_ROW) {
    let at = 0;
    for (let i = from; i < to; i++) {
      const start = order[i]! * row;
      for (let k = 0; k < row; k++) out[at++] = data[start + k]!;
    }
  } else {
    for (let i = from; i < to; i++) {
      const start = order[i]! * row;
      out.set(data.subarray(start, start + row), (i - from) * row);
    }
  }
  const made: HostArray = { data: out, shape: [to - from, ...shape.slice(1)] };
  return dtype === undefined ? made : { ...made, dtype };
}

/** A new batch of the rows at positions `from` … `to` of `order` (undefined: the order of the data). */
export function gather(
  rows: Rows,
  order: Uint32Array | undefined,
  from: number,
  to: number,
  spare: HostBatch = {},
): HostBatch {
  const batch: HostBatch = {};
  for (const [name, field] of Object.entries(rows.fields)) {
    batch[name] = gatherRows(field, order, from, to, spare[name]?.data);
  }
  return batch;
}
