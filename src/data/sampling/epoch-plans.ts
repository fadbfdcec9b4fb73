// How each epoch is put in order and cut into batches.
import { DataError } from "../../core/errors.ts";
import { permutation } from "../random.ts";

/** The order of every epoch and its batches: functions of epoch and seed, whatever was read before. */
export interface EpochPlans {
  /** Batches in an epoch. */
  readonly length: number;
  /** The position behind a batch, in the epoch's order; 0 for the one before the first. */
  end(batch: number, epoch: number, seed: number): number;
  /** The samples in their order; undefined: the order of the data. */
  order(epoch: number, seed: number): Uint32Array | undefined;
  /** The length that the samples of a batch are padded to. */
  padTo?(batch: number, epoch: number, seed: number): number;
}

/** Batches of one size, in the order of the data, shuffled, or in an order of their own. */
export function evenPlans(
  count: number,
  {
    batchSize,
    shuffle,
    dropLast,
  }: { readonly batchSize: number; readonly shuffle: boolean; readonly dropLast: boolean },
  ownOrder?: (epoch: number, seed: number) => Uint32Array,
): EpochPlans {
  if (count === 0) throw new DataError("DataLoader: the data has no samples.");
  const length = dropLast ? Math.floor(count / batchSize) : Math.ceil(count / batchSize);
  if (length === 0) {
    throw new DataError(
      `DataLoader: \`dropLast\` leaves no batch, because ${count} samples do not fill one of ${batchSize}.`,
    );
  }
  const make = ownOrder ?? (shuffle ? (epoch: number, seed: number) => permutation(count, seed, epoch) : undefined);
  let cached: { order: Uint32Array; epoch: number; seed: number } | undefined;
  return {
    length,
    end: (batch) => Math.min((batch + 1) * batchSize, count),
    order(epoch, seed) {
      if (make && (cached?.epoch !== epoch || cached.seed !== seed)) cached = { order: make(epoch, seed), epoch, seed };
      return cached?.order;
    },
  };
}
