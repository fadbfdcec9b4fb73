// What a batch must be: an object of arrays. Checked where it enters, so that everything after may rely on it.
import { toHostArray } from "./arrays.ts";
import { DataError } from "./errors.ts";
import type { HostBatch } from "./model.ts";
import { show } from "./options.ts";

/** Checks a batch; `what` says whose it is. */
export function checkBatch(what: string, batch: unknown): asserts batch is HostBatch {
  if (typeof batch !== "object" || batch === null || Array.isArray(batch)) {
    throw new DataError(`${what} gave ${show(batch)} as a batch. A batch is an object of arrays, such as { x, y }.`);
  }
  const names = Object.keys(batch);
  if (names.length === 0) {
    throw new DataError(`${what} gave an empty batch. A batch is an object of arrays, such as { x, y }.`);
  }
  for (const name of names) toHostArray((batch as HostBatch)[name]!, `${what}, batch field \`${name}\``);
}

/** Samples in a batch: the first dimension of its first array. */
export function samplesIn(batch: HostBatch): number {
  for (const name in batch) return batch[name]!.shape[0] ?? 1;
  return 0;
}
