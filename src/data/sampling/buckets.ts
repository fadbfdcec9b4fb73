// Length bucketing: samples of similar length share a batch, which is padded to one of a few lengths, so that little is
// computed for padding and only a few shapes are compiled.
import { isHostArray, isTypedArray, sizeOf, type TypedArray } from "../../core/arrays.ts";
import { DataError, OptionError } from "../../core/errors.ts";
import { is, type Check } from "../../core/options.ts";
import { permutation } from "../random.ts";
import type { EpochPlans } from "../indexed.ts";

/** How samples of different lengths are put into batches. */
export interface Buckets {
  /** The field whose length decides, or the lengths of all samples in the order of the data. */
  readonly by: string | readonly number[];
  /** The lengths that batches are padded to, in ascending order. */
  readonly lengths: readonly number[];
  /** The fields that are padded at their end, and with what: `{ tokens: 0, y: -100 }`. */
  readonly pad: Readonly<Record<string, number>>;
}

export const BUCKETS_CHECK: Check = {
  expected: "{ by, lengths, pad }, such as { by: tokens, lengths: [32, 64], pad: { tokens: 0 } }",
  schema: {
    type: "object",
    properties: {
      by: { anyOf: [is.name.schema!, { type: "array", items: { type: "integer" } }] },
      lengths: { type: "array", items: { type: "integer", minimum: 1 }, minItems: 1 },
      pad: { type: "object", additionalProperties: { type: "number" } },
    },
    required: ["by", "lengths", "pad"],
    additionalProperties: false,
  },
  test: (v: unknown) => {
    if (!is.object.test(v)) return false;
    const { by, lengths, pad, ...others } = v as Record<string, unknown>;
    const isAscending = (list: readonly number[]): boolean => list.every((n, i) => i === 0 || n > list[i - 1]!);
    return (
      Object.keys(others).length === 0 &&
      is.or(is.name, is.arrayOf(is.wholeFrom(0))).test(by) &&
      is.arrayOf(is.wholeFrom(1)).test(lengths) &&
      (lengths as number[]).length > 0 &&
      isAscending(lengths as number[]) &&
      is.object.test(pad) &&
      Object.values(pad as object).every((value) => typeof value === "number")
    );
  },
};

export interface BucketPlanOptions {
  readonly batchSize: number;
  readonly shuffle: boolean;
  readonly dropLast: boolean;
}

/** Where an epoch's batches end in its order, and the length that each is padded to. */
interface BucketPlan {
  readonly order: Uint32Array;
  readonly ends: readonly number[];
  readonly padTo: readonly number[];
}

/** `sizes` are the lengths of all samples. */
export function bucketPlans(sizes: readonly number[], { lengths }: Buckets, options: BucketPlanOptions): EpochPlans {
  const { batchSize, shuffle, dropLast } = options;
  const bucketOf = sizes.map((size, sample) => {
    const bucket = lengths.findIndex((length) => size <= length);
    if (bucket >= 0) return bucket;
    throw new DataError(
      `DataLoader: sample ${sample} has length ${size}, and the longest of \`buckets.lengths\` is ${lengths.at(-1)}. Add a length, or shorten the sample.`,
    );
  });
  const counts = lengths.map((_, bucket) => bucketOf.filter((each) => each === bucket).length);
  const batchesOf = (count: number): number => (dropLast ? Math.floor : Math.ceil)(count / batchSize);
  const length = counts.reduce((sum, count) => sum + batchesOf(count), 0);
  if (length === 0)
    throw new OptionError(`DataLoader: \`dropLast\` leaves no batch, because no bucket has ${batchSize} samples.`);

  /** Samples in the epoch's order wait in their bucket until it has a whole batch; what is left comes at the end. */
  const make = (epoch: number, seed: number): BucketPlan => {
    const waiting: number[][] = lengths.map(() => []);
    const order: number[] = [];
    const [ends, padTo]: [number[], number[]] = [[], []];
    const emit = (bucket: number): void => {
      order.push(...waiting[bucket]!.splice(0));
      ends.push(order.length);
      padTo.push(lengths[bucket]!);
    };
    const samples = shuffle ? permutation(sizes.length, seed, epoch) : sizes.keys();
    for (const sample of samples) {
      const bucket = bucketOf[sample]!;
      if (waiting[bucket]!.push(sample) === batchSize) emit(bucket);
    }
    for (const bucket of lengths.keys()) if (!dropLast && waiting[bucket]!.length > 0) emit(bucket);
    return { order: Uint32Array.from(order), ends, padTo };
  };

  let cached: (BucketPlan & { readonly epoch: number; readonly seed: number }) | undefined;
  const of = (epoch: number, seed: number): BucketPlan => {
    if (cached?.epoch !== epoch || cached.seed !== seed) cached = { ...make(epoch, seed), epoch, seed };
    return cached;
  };
  return {
    length,
    end: (batch, epoch, seed) => (batch < 0 ? 0 : (of(epoch, seed).ends[batch] ?? Number.NaN)),
    order: (epoch, seed) => of(epoch, seed).order,
    padTo: (batch, epoch, seed) => of(epoch, seed).padTo[batch]!,
  };
}

/** The length of a field, which is an array whose first dimension differs from sample to sample. */
export function lengthOf(value: unknown, what: () => string): number {
  if (isHostArray(value) && value.shape.length > 0) return value.shape[0]!;
  if (isTypedArray(value) || Array.isArray(value)) return value.length;
  throw new DataError(`${what()} has no length: \`buckets\` is for arrays.`);
}

/** The sample with its fields padded to this length. */
export function padSample(
  sample: Readonly<Record<string, unknown>>,
  length: number,
  pad: Buckets["pad"],
  name: () => string,
): Record<string, unknown> {
  const padded = { ...sample };
  for (const [field, filler] of Object.entries(pad)) {
    const what = (): string => `${name()}: field \`${field}\``;
    const value = sample[field];
    const own = lengthOf(value, what);
    if (own > length)
      throw new DataError(`${what()} has length ${own}, which is more than the ${length} of its bucket.`);
    padded[field] = padValue(value, length, filler);
  }
  return padded;
}

function padValue(value: unknown, length: number, filler: number): unknown {
  if (isTypedArray(value)) return padArray(value, length, filler);
  if (Array.isArray(value))
    return [...(value as number[]), ...Array.from({ length: length - value.length }, () => filler)];
  const { data, shape, ...rest } = value as { data: TypedArray; shape: readonly number[] };
  const row = sizeOf(shape.slice(1));
  return { ...rest, data: padArray(data, length * row, filler), shape: [length, ...shape.slice(1)] };
}

function padArray(data: TypedArray, length: number, filler: number): TypedArray {
  const padded = new (data.constructor as new (length: number) => TypedArray)(length);
  padded.set(data);
  return padded.fill(filler, data.length);
}
