// Datasets become loaders: batches of arrays, or of samples, unless the user makes loaders of their own.
import type { Datasets } from "../core/outer-events.ts";
import { DataLoader, type DataLoaderOptions } from "../data/data-loader.ts";
import type { DataSource } from "../data/source.ts";
import type { LoaderOptions, Loaders } from "./types.ts";

export const DEFAULT_BATCH_SIZE = 32;

export function defaultLoaders<D>({ train, val, test }: Datasets<D>, options: LoaderOptions = {}): Loaders {
  const { batchSize = DEFAULT_BATCH_SIZE, evalBatchSize = batchSize, shuffle = true, dropLast, ...more } = options;
  const load = (data: D, how: DataLoaderOptions): DataLoader => new DataLoader(data as DataSource, { ...more, ...how });
  // What is left out must stay out: in evaluations every row counts.
  const whole = { batchSize: evalBatchSize };
  return {
    train: load(train, { batchSize, shuffle, ...(dropLast !== undefined && { dropLast }) }),
    ...(val !== undefined && { eval: load(val, whole) }),
    ...(test !== undefined && { test: load(test, whole) }),
  };
}
