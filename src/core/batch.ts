// What a batch must be: an object of arrays. Checked where it enters, so that everything after may rely on it.
import { isHostArray, sizeOf, toHostArray } from "./arrays.ts";
import { DataError, OptionError } from "./errors.ts";
import { messageOf } from "./maybe.ts";
import type { HostBatch } from "./model.ts";
import { show } from "./options.ts";

const isSound = (array: unknown): boolean => isHostArray(array) && sizeOf(array.shape) === array.data.length;

/**
 * The batch, checked; bare typed arrays become one-dimensional ones. `source` says whose it is and is asked only
 * when something is wrong: this runs for every batch.
 */
export function toBatch(batch: unknown, source: () => string): HostBatch {
  if (typeof batch !== "object" || batch === null || Array.isArray(batch)) {
    throw new DataError(
      `${source()} gave ${show(batch)} as a batch. A batch is an object of arrays, such as { x, y }.`,
    );
  }
  const given = batch as HostBatch;
  let fields = 0;
  let sound = true;
  for (const name in given) {
    fields++;
    sound &&= isSound(given[name]);
  }
  if (fields === 0) {
    throw new DataError(`${source()} gave an empty batch. A batch is an object of arrays, such as { x, y }.`);
  }
  if (sound) return given;
  const entries = Object.entries(given).map(([name, array]) => [
    name,
    toHostArray(array, `${source()}, batch field \`${name}\``),
  ]);
  return Object.fromEntries(entries) as HostBatch;
}

/** Samples in a batch: the first dimension of its first array. */
export function samplesIn(batch: HostBatch): number {
  for (const name in batch) return batch[name]!.shape[0] ?? 1;
  return 0;
}

/** What a user's function of this name (`tokens`, `weigh`) finds in a batch. */
export function measure(name: string, batch: HostBatch, count: (batch: HostBatch) => number): number {
  let found: unknown;
  try {
    found = count(batch);
  } catch (cause) {
    throw new OptionError(
      `\`${name}\` failed on a batch with fields ${Object.keys(batch).join(", ")}: ${messageOf(cause)}`,
      { cause },
    );
  }
  if (typeof found === "number" && found >= 0 && Number.isFinite(found)) return found;
  throw new OptionError(`Expected \`${name}\` to return a number ≥ 0, got ${show(found)}.`);
}
