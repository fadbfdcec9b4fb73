// The plans of epochs that a loader's options ask for.
import type { HostArray } from "../../core/arrays.ts";
import { DataError, OptionError } from "../../core/errors.ts";
import { type EpochPlans, evenPlans } from "../indexed.ts";
import { type Buckets, bucketPlans, lengthOf } from "./buckets.ts";
import { type Sampling, samplingOrder } from "./sampling.ts";

interface PlanOptions {
  readonly batchSize: number;
  readonly shuffle: boolean;
  readonly dropLast: boolean;
  readonly sampling: Sampling | undefined;
  readonly buckets: Buckets | undefined;
}

/** A field of all samples, if the data is in memory. */
export type FindColumn = (field: string) => HostArray | undefined;

/** `samples` are those in memory, whose lengths can be seen. */
export function choosePlans(
  count: number,
  options: PlanOptions,
  column: FindColumn,
  samples?: readonly object[],
): EpochPlans {
  const { sampling, buckets } = options;
  if (buckets && sampling)
    throw new OptionError("DataLoader: give `sampling` or `buckets`: both decide which samples share a batch.");
  if (buckets) return bucketPlans(sizesFor(buckets, count, samples), buckets, options);
  if (!sampling) return evenPlans(count, options);
  const order = samplingOrder(sampling, count, (field) => {
    const found = column(field);
    if (found?.data.length === count) return found.data;
    throw new DataError(
      found
        ? `DataLoader: \`sampling\` needs one number for each sample, but field \`${field}\` has shape [${found.shape.join(", ")}].`
        : `DataLoader: \`sampling\` finds no field \`${field}\` in memory. Give the numbers of all samples instead of its name.`,
    );
  });
  return evenPlans(count, options, order);
}

/** The lengths of all samples, by which they are put into buckets. */
function sizesFor({ by }: Buckets, count: number, samples: readonly object[] | undefined): readonly number[] {
  if (typeof by !== "string") {
    if (by.length === count) return by;
    throw new OptionError(`DataLoader: \`buckets.by\` has ${by.length} lengths for ${count} samples.`);
  }
  if (!samples)
    throw new OptionError(
      "DataLoader: `buckets.by` names a field, but this data is read sample by sample. Give the lengths of all samples instead.",
    );
  return samples.map((sample, i) =>
    lengthOf((sample as Readonly<Record<string, unknown>>)[by], () => `DataLoader: sample ${i}: field \`${by}\``),
  );
}
