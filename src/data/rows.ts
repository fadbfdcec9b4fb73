// Records of arrays whose first dimension is the sample, and batches cut from them.
import { type ArrayInput, type HostArray, sizeOf, toHostArray, type TypedArray } from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import type { HostBatch } from "../core/model.ts";

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

/** A fresh array of the same element type. By tag, not by constructor: a Node `Buffer` must become a plain Uint8Array. */
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

function gatherRows(source: HostArray, order: Uint32Array | undefined, from: number, to: number): HostArray {
  const { data, shape, dtype } = source;
  const row = sizeOf(shape.slice(1));
  const out = allocateLike(data, (to - from) * row);
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

/** A new batch of the rows at places `from` … `to` of `order` (absent: as they come). */
export function gather(rows: Rows, order: Uint32Array | undefined, from: number, to: number): HostBatch {
  const batch: HostBatch = {};
  for (const [name, field] of Object.entries(rows.fields)) batch[name] = gatherRows(field, order, from, to);
  return batch;
}
