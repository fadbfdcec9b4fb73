// Host arrays, the form in which numbers pass between a user's program and an engine, and batches of them. Both are
// checked where they enter, so that later code may rely on them.
import { DataError, OptionError } from "./errors.ts";
import { show } from "./options.ts";
import { messageOf } from "./maybe.ts";
import type { HostBatch } from "./model.ts";

/** What holds the numbers of a host array. */
export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array;

/** The element types that engines compute with. */
export type DType = "float32" | "int32" | "uint32" | "bool";

/** Numbers in row-major order with a shape. `dtype` is needed only when the typed array does not say it (bool). */
export interface HostArray<T extends TypedArray = TypedArray> {
  readonly data: T;
  readonly shape: readonly number[];
  readonly dtype?: DType;
}

/** What an array is, without its numbers. */
export interface TensorSpec {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** The type with which an engine computes: other whole numbers become int32, other floats float32. */
export function dtypeOf({ data, dtype }: Pick<HostArray, "data" | "dtype">): DType {
  if (dtype === "bool") return "bool";
  if (data instanceof Float32Array || data instanceof Float64Array) return "float32";
  return data instanceof Uint32Array ? "uint32" : "int32";
}

/** Where an array is accepted, a bare typed array stands for a one-dimensional one. */
export type ArrayInput = HostArray | TypedArray;

export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export function isTypedArray(value: unknown): value is TypedArray {
  return (
    ArrayBuffer.isView(value) &&
    !(value instanceof DataView) &&
    !(value instanceof BigInt64Array) &&
    !(value instanceof BigUint64Array)
  );
}

/** Is it one array, and not several by name? For `ctx.outputs` and what `predict` returns. */
export function isHostArray(value: unknown): value is HostArray {
  return (
    typeof value === "object" &&
    value !== null &&
    isTypedArray((value as HostArray).data) &&
    Array.isArray((value as HostArray).shape)
  );
}

/** Checks and normalises an array input; `what` names it in the error. */
export function toHostArray(value: ArrayInput, what: string): HostArray {
  if (isTypedArray(value)) return { data: value, shape: [value.length] };
  if (!isHostArray(value)) {
    throw new DataError(
      `${what}: expected a typed array or { data, shape }, got ${show(value)}. Numbers go in as Float32Array, Int32Array, …`,
    );
  }
  for (const dim of value.shape) {
    if (!Number.isSafeInteger(dim) || dim < 0)
      throw new DataError(`${what}: shape [${value.shape.join(", ")}] has a dimension that is not a whole number ≥ 0.`);
  }
  if (sizeOf(value.shape) !== value.data.length) {
    throw new DataError(
      `${what}: shape [${value.shape.join(", ")}] holds ${sizeOf(value.shape)} numbers, but data has ${value.data.length}.`,
    );
  }
  return value;
}

/** At least one array, one after the other along the first dimension. */
export function joinArrays(parts: readonly HostArray[]): HostArray {
  const first = parts[0]!;
  const Type = first.data.constructor as new (length: number) => TypedArray;
  const data = new Type(parts.reduce((sum, part) => sum + part.data.length, 0));
  let at = 0;
  for (const part of parts) {
    data.set(part.data, at);
    at += part.data.length;
  }
  const rows = parts.reduce((sum, part) => sum + (part.shape[0] ?? 1), 0);
  return { data, shape: [rows, ...first.shape.slice(1)] };
}

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

/** What a batch weighs for a loss that is a mean over samples: the sum of their weights, or their number. */
export function weighSamples(batch: HostBatch): number {
  if (batch.weight === undefined) return samplesIn(batch);
  let sum = 0;
  checkWeights(batch.weight);
  // As float32, like the weights inside the program.
  for (const weight of batch.weight.data) sum += Math.fround(weight);
  return sum * (samplesIn(batch) / (batch.weight.data.length || 1));
}

/** Rejects weights that no mean can use. */
export function checkWeights({ data }: HostArray): void {
  const odd = data.findIndex((weight) => !(weight >= 0 && weight < Infinity));
  if (odd >= 0) throw new DataError(`the batch's \`weight\` is ${data[odd]} at ${odd}; weights are numbers ≥ 0.`);
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
