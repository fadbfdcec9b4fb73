// What a DataLoader can load, how each kind of data becomes a source of batches, and how samples are stacked.
import {
  type ArrayInput,
  type DType,
  type HostArray,
  type TypedArray,
  isHostArray,
  isTypedArray,
  sizeOf,
} from "../core/arrays.ts";
import { DataError, OptionError } from "../core/errors.ts";
import type { HostBatch } from "../core/model.ts";
import { show } from "../core/options.ts";
import { type Dataset, allocateLike, arraySource, fetchSamples, indexedSource, toRows } from "./indexed.ts";
import { chain, messageOf } from "../core/maybe.ts";
import type { Source } from "./reader.ts";
import { type Buckets, padSample } from "./sampling/buckets.ts";
import { choosePlans, type FindColumn } from "./sampling/choose-plans.ts";
import type { Sampling } from "./sampling/sampling.ts";
import { type AnyIterable, type StreamFactory, streamSource } from "./stream.ts";
import { isTableLike } from "./table/column.ts";

/** What a field of a sample may be. */
export type FieldValue = number | boolean | readonly number[] | TypedArray | HostArray;

/** One sample: fields by name, the same in every sample. */
export type Sample = Readonly<Record<string, FieldValue>>;

/** The element type of plain JavaScript numbers, by field. Default float32. */
export type DTypes = Readonly<Record<string, DType>>;

/** The name of a sample in messages: "sample 17". */
type NameSample = (place: number) => string;

/** Arrays by field, whose first dimension is the sample. */
export type Arrays = Readonly<Record<string, ArrayInput>>;

/**
 * Arrays by field; an array of samples; a data set with an index; an iterable of samples (or, without a `batchSize`, of
 * ready batches), best given as a function so that a second epoch can start.
 */
export type DataSource<S extends object = Sample> =
  | Arrays
  | readonly S[]
  | Dataset<S>
  | AnyIterable<S>
  | StreamFactory<S>;

export interface SourceOptions<S> {
  readonly batchSize: number | undefined;
  readonly shuffle: boolean;
  readonly dropLast: boolean;
  readonly dtypes: DTypes | undefined;
  readonly collate: ((samples: readonly S[]) => Readonly<Record<string, ArrayInput>>) | undefined;
  readonly sampling: Sampling | undefined;
  readonly buckets: Buckets | undefined;
}

const isDataset = (data: object): data is Dataset<object> =>
  "get" in data && typeof data.get === "function" && "length" in data;

const isIterable = (data: object): data is AnyIterable<object> =>
  Symbol.iterator in data || Symbol.asyncIterator in data;

function collator<S extends object>(options: SourceOptions<S>): (samples: readonly S[], name: NameSample) => HostBatch {
  const { collate, dtypes = {} } = options;
  if (collate === undefined) {
    return (samples, name) => stackSamples(samples as readonly object[] as readonly Sample[], dtypes, name);
  }
  return (samples, name) => {
    try {
      return toRows("collate", collate(samples)).fields;
    } catch (cause) {
      throw new DataError(`DataLoader: \`collate\` failed on the batch from ${name(0)}: ${messageOf(cause)}`, {
        cause,
      });
    }
  };
}

function needBatchSize(options: SourceOptions<never>): number {
  if (options.batchSize !== undefined) return options.batchSize;
  throw new OptionError("DataLoader: missing option `batchSize` (a whole number ≥ 1).");
}

type Refused = "collate" | "dtypes" | "shuffle" | "sampling" | "buckets";

function refuse<S>(options: SourceOptions<S>, key: Refused, why: string): void {
  if (options[key]) throw new OptionError(`DataLoader: \`${key}\` ${why}`);
}

function datasetSource<S extends object>(
  dataset: Dataset<S>,
  options: SourceOptions<S>,
  samples?: readonly S[],
): Source {
  const { length } = dataset;
  if (!Number.isSafeInteger(length) || length < 0) {
    throw new DataError(`DataLoader: expected the data's \`length\` to be a whole number, got ${show(length)}.`);
  }
  const stack = collator(options);
  const { buckets } = options;
  const batchSize = needBatchSize(options);
  const column: FindColumn = (field) => samples && columnOf(samples, field, options);
  const plans = choosePlans(length, { ...options, batchSize }, column, samples);
  const source = indexedSource(length, batchSize, plans, (span) =>
    chain(fetchSamples(dataset, span), (fetched) => {
      const name: NameSample = (place) => `sample ${span.order?.[span.from + place] ?? span.from + place}`;
      const { padTo } = span;
      if (!buckets || padTo === undefined) return stack(fetched, name);
      const padded = fetched.map((sample, place) => padSample(sample as Sample, padTo, buckets.pad, () => name(place)));
      return stack(padded as readonly object[] as readonly S[], name);
    }),
  );
  return { ...source, ...(samples && { column }) };
}

function iterableSource<S extends object>(
  stream: AnyIterable<S> | StreamFactory<S>,
  options: SourceOptions<S>,
): Source {
  for (const key of ["shuffle", "sampling", "buckets"] as const)
    refuse(
      options,
      key,
      `needs data with an index. A stream comes in its own order: ${key === "shuffle" ? key : "choose"} where it is made.`,
    );
  const { batchSize, dropLast } = options;
  if (batchSize !== undefined) {
    const stack = collator(options);
    return streamSource(stream, {
      itemsPerBatch: batchSize,
      dropLast,
      count: (items) => items.length,
      itemsAt: ({ samples }) => samples,
      make: (items, first) => ({
        batch: stack(items, (place) => `sample ${first + place} of the stream`),
        samples: items.length,
      }),
    });
  }
  const why = "is for samples. Without a `batchSize` a stream is one of ready batches.";
  refuse(options, "collate", why);
  refuse(options, "dtypes", why);
  const rows = (items: readonly S[], name: string) => toRows(name, items[0] as Arrays);
  return streamSource(stream, {
    itemsPerBatch: 1,
    dropLast: false,
    count: (items) => (items.length === 0 ? 0 : rows(items, "batch of the stream").count),
    itemsAt: ({ batches }) => batches,
    make(items, first) {
      const { fields, count } = rows(items, `batch ${first} of the stream`);
      return { batch: fields, samples: count };
    },
  });
}

export function toSource<S extends object>(data: DataSource<S>, options: SourceOptions<S>): Source {
  if (typeof data === "function") return iterableSource(data, options);
  if (typeof data !== "object" || data === null || isTypedArray(data) || isHostArray(data)) {
    throw new DataError(
      `DataLoader: expected arrays by name such as { x, y }, a data set { length, get }, an array of samples or a stream, got ${show(data)}.`,
    );
  }
  if (isTableLike(data)) {
    throw new DataError(
      "DataLoader: got a Table, whose columns are not arrays yet. Fit a Preprocessor on the training rows and load what it makes: `new DataLoader(preprocessor.transform(table), …)`. In an experiment, give `preprocess`.",
    );
  }
  if (Array.isArray(data)) {
    const samples: readonly S[] = data;
    return datasetSource({ length: samples.length, get: (i) => samples[i]! }, options, samples);
  }
  if (isDataset(data)) return datasetSource(data, options);
  if (isIterable(data)) return iterableSource(data as AnyIterable<S>, options);
  const why = "is for samples; arrays by name are cut into batches as they are.";
  refuse(options, "collate", why);
  refuse(options, "dtypes", why);
  refuse(options, "buckets", "is for samples of different lengths; arrays by name have one length.");
  const rows = toRows("DataLoader", data);
  const batchSize = needBatchSize(options);
  const plans = choosePlans(rows.count, { ...options, batchSize }, (field) => rows.fields[field]);
  return arraySource(rows, batchSize, plans);
}

/** A field of all samples; undefined if they do not have it. */
function columnOf(all: readonly object[], field: string, { dtypes = {} }: Pick<SourceOptions<never>, "dtypes">) {
  const samples = all as readonly Sample[];
  if (samples[0]?.[field] === undefined) return undefined;
  const only = samples.map((sample) => ({ [field]: sample[field]! }));
  return stackSamples(only, dtypes, (place) => `sample ${place}`)[field];
}

function numberArray(dtype: DType, length: number): TypedArray {
  if (dtype === "int32") return new Int32Array(length);
  if (dtype === "uint32") return new Uint32Array(length);
  return dtype === "bool" ? new Uint8Array(length) : new Float32Array(length);
}

interface Column {
  readonly data: TypedArray;
  readonly dtype: DType | undefined;
  /** The shape in one sample. */
  readonly shape: readonly number[];
}

const shapeOf = (value: FieldValue): readonly number[] => {
  if (isHostArray(value)) return value.shape;
  return typeof value === "object" ? [value.length] : [];
};

/** Room for `count` values like `value`. Typed arrays keep their type; plain numbers are float32 or as in `dtypes`. */
function columnLike(value: FieldValue, count: number, dtype: DType | undefined): Column {
  const shape = shapeOf(value);
  const length = count * sizeOf(shape);
  if (isTypedArray(value)) return { data: allocateLike(value, length), dtype: undefined, shape };
  if (isHostArray(value)) return { data: allocateLike(value.data, length), dtype: value.dtype, shape };
  const type = dtype ?? (typeof value === "boolean" ? "bool" : "float32");
  return { data: numberArray(type, length), dtype: type === "bool" ? "bool" : undefined, shape };
}

function isField(value: unknown): value is FieldValue {
  if (typeof value === "number" || typeof value === "boolean" || isTypedArray(value) || isHostArray(value)) return true;
  return Array.isArray(value) && value.every((each) => typeof each === "number");
}

function write(column: Column, value: FieldValue, place: number, what: () => string): void {
  const size = sizeOf(column.shape);
  const items = isHostArray(value) ? value.data : typeof value === "object" ? value : [Number(value)];
  if (items.length !== size || shapeOf(value).join() !== column.shape.join()) {
    throw new DataError(
      `${what()} has shape [${shapeOf(value).join(", ")}], but the first of its batch has [${column.shape.join(", ")}]. Pad them, or give your own \`collate\`.`,
    );
  }
  if (isTypedArray(items)) {
    const [type, expected] = [items[Symbol.toStringTag], column.data[Symbol.toStringTag]];
    if (type !== expected) throw new DataError(`${what()} is a ${type}, but the first of its batch is a ${expected}.`);
  } else if (!(column.data instanceof Float32Array)) {
    const odd = items.find((item) => !Number.isInteger(item));
    if (odd !== undefined) throw new DataError(`${what()} is ${odd}, which does not fit its whole-number type.`);
  }
  column.data.set(items, place * size);
}

/**
 * Stacks samples field by field. Typed arrays keep their type; numbers and arrays of numbers become float32 whatever
 * their values, so that a type never depends on the data, unless `dtypes` names another; booleans become bool.
 */
export function stackSamples(samples: readonly Sample[], dtypes: DTypes, nameSample: NameSample): HostBatch {
  const [first] = samples;
  if (typeof first !== "object" || first === null || isTypedArray(first) || isHostArray(first)) {
    throw new DataError(`${nameSample(0)}: expected an object of fields such as { x, y }, got ${typeof first}.`);
  }
  const names = Object.keys(first);
  const batch: HostBatch = {};
  for (const name of names) {
    let column: Column | undefined;
    for (const [place, sample] of samples.entries()) {
      const value: unknown = sample[name];
      const what = () => `${nameSample(place)}: field \`${name}\``;
      if (!isField(value)) {
        throw new DataError(
          `${what()} is ${value === undefined ? "missing" : `of type ${typeof value}`}. A field is a number, a boolean, an array of numbers, a typed array or { data, shape }.`,
        );
      }
      column ??= columnLike(value, samples.length, dtypes[name]);
      write(column, value, place, what);
    }
    const { data, dtype, shape } = column!;
    batch[name] = { data, shape: [samples.length, ...shape], ...(dtype && { dtype }) };
  }
  const odd = samples.findIndex((sample) => Object.keys(sample).length !== names.length);
  if (odd >= 0) {
    const extra = Object.keys(samples[odd]!).find((key) => !names.includes(key));
    throw new DataError(`${nameSample(odd)}: has a field \`${extra}\` that the first of its batch has not.`);
  }
  return batch;
}
