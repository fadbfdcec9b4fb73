// From samples to a batch: each field is stacked along a new first dimension.
import { type DType, type HostArray, isHostArray, isTypedArray, sizeOf, type TypedArray } from "../core/arrays.ts";
import { DataError } from "../core/errors.ts";
import type { HostBatch } from "../core/model.ts";
import { allocateLike } from "./rows.ts";

/** What a field of a sample may be. */
export type FieldValue = number | boolean | readonly number[] | TypedArray | HostArray;

/** One sample: fields by name, the same in every sample. */
export type Sample = Readonly<Record<string, FieldValue>>;

/** The element type of plain JavaScript numbers, by field; float32 where it does not say. */
export type DTypes = Readonly<Record<string, DType>>;

/** Where a sample comes from, for messages: "sample 17". */
export type NameSample = (place: number) => string;

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

/** Room for `count` values like `value`. Typed arrays keep their type; what has none is float32, or what `dtypes` says. */
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
