// The few batch sizes that a predictor compiles its program for. Batches are padded to the next of them.
import type { HostArray, TypedArray } from "../core/arrays.ts";
import { OptionError } from "../core/errors.ts";
import type { HostBatch } from "../core/model.ts";
import { show } from "../core/options.ts";

/** Powers of two: at most half of a batch is padding. */
export const DEFAULT_BATCH_SIZES: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The sizes in ascending order, checked. */
export function checkBatchSizes(owner: string, sizes: readonly number[]): readonly number[] {
  const sorted = [...new Set(sizes)].toSorted((a, b) => a - b);
  if (sorted.length > 0 && sorted.every((size) => Number.isSafeInteger(size) && size > 0)) return sorted;
  throw new OptionError(`${owner}: Expected \`batchSizes\` to be a list of whole numbers ≥ 1, got ${show(sizes)}`, {
    option: "batchSizes",
  });
}

/** The batch with its last row repeated up to the next of these sizes. */
export function padBatch(batch: HostBatch, rows: number, sizes: readonly number[]): HostBatch {
  const size = sizes.find((each) => each >= rows) ?? rows;
  if (size === rows) return batch;
  return Object.fromEntries(Object.entries(batch).map(([name, array]) => [name, padRows(array, rows, size)]));
}

/** A row that is there is always valid input; zeros may not be. */
function padRows(array: HostArray, rows: number, size: number): HostArray {
  const width = array.data.length / rows;
  const data = new (array.data.constructor as new (length: number) => TypedArray)(size * width);
  data.set(array.data);
  for (let row = rows; row < size; row++) data.copyWithin(row * width, (rows - 1) * width, rows * width);
  return { ...array, data, shape: [size, ...array.shape.slice(1)] };
}
