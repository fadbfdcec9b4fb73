// What can be loaded, and how each kind becomes a source of batches.
import { type ArrayInput, isHostArray, isTypedArray } from "../core/arrays.ts";
import { DataError, OptionError } from "../core/errors.ts";
import type { HostBatch } from "../core/model.ts";
import { show } from "../core/options.ts";
import { type DTypes, type NameSample, type Sample, stackSamples } from "./collate.ts";
import { type Dataset, fetchSamples, indexedSource } from "./indexed.ts";
import { chain, messageOf } from "../core/maybe.ts";
import type { Source } from "./reader.ts";
import { gather, toRows } from "./rows.ts";
import { type AnyIterable, type StreamFactory, streamSource } from "./stream.ts";

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

function refuse<S>(options: SourceOptions<S>, key: "collate" | "dtypes" | "shuffle", why: string): void {
  if (options[key]) throw new OptionError(`DataLoader: \`${key}\` ${why}`);
}

function datasetSource<S extends object>(dataset: Dataset<S>, options: SourceOptions<S>): Source {
  const { length } = dataset;
  if (!Number.isSafeInteger(length) || length < 0) {
    throw new DataError(`DataLoader: expected the data's \`length\` to be a whole number, got ${show(length)}.`);
  }
  const stack = collator(options);
  return indexedSource(length, { ...options, batchSize: needBatchSize(options) }, (span) =>
    chain(fetchSamples(dataset, span), (samples) =>
      stack(samples, (place) => `sample ${span.order?.[span.from + place] ?? span.from + place}`),
    ),
  );
}

function iterableSource<S extends object>(
  stream: AnyIterable<S> | StreamFactory<S>,
  options: SourceOptions<S>,
): Source {
  refuse(options, "shuffle", "needs data with an index. A stream comes in its own order: shuffle where it is made.");
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
  if (Array.isArray(data)) {
    const samples: readonly S[] = data;
    return datasetSource({ length: samples.length, get: (i) => samples[i]! }, options);
  }
  if (isDataset(data)) return datasetSource(data, options);
  if (isIterable(data)) return iterableSource(data as AnyIterable<S>, options);
  const why = "is for samples; arrays by name are cut into batches as they are.";
  refuse(options, "collate", why);
  refuse(options, "dtypes", why);
  const rows = toRows("DataLoader", data);
  return indexedSource(rows.count, { ...options, batchSize: needBatchSize(options) }, ({ order, from, to }) =>
    gather(rows, order, from, to),
  );
}
