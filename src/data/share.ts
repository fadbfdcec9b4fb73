// The rows of a batch that belong to one rank of a process group: consecutive rows in the order of the ranks, which together
// are the whole batch.
import { type HostArray, samplesIn, toBatch } from "../core/arrays.ts";
import type { HostBatch, Loader, MaybePromise, Share } from "../core/model.ts";
import { chain } from "../core/maybe.ts";

/** A rank, and the number of ranks. */
export interface Part {
  readonly rank: number;
  readonly size: number;
}

interface Rows {
  readonly from: number;
  readonly to: number;
  readonly empty: boolean;
}

/**
 * The rows of one rank among those from `from` to `to`. With fewer rows than ranks, a rank without any gets the last row,
 * so that all ranks run the same programs and events.
 */
export function rowsOfPart(from: number, to: number, { rank, size }: Part): Rows {
  const edge = (part: number): number => from + Math.floor((part * (to - from)) / size);
  const [first, last] = [edge(rank), edge(rank + 1)];
  return first < last ? { from: first, to: last, empty: false } : { from: to - 1, to, empty: true };
}

/** One rank's share as views of the batch. An array whose first dimension is not the batch's is shared by all ranks. */
export function cutShare(batch: HostBatch, part: Part): Share {
  const samples = samplesIn(batch);
  if (samples === 0) return { batch, samples, empty: true };
  const { from, to, empty } = rowsOfPart(0, samples, part);
  const rows: HostBatch = {};
  for (const name in batch) rows[name] = batch[name]!.shape[0] === samples ? cut(batch[name]!, from, to) : batch[name]!;
  return { batch: rows, samples, empty };
}

function cut({ data, shape, dtype }: HostArray, from: number, to: number): HostArray {
  const row = data.length / shape[0]!;
  const rows = { data: data.subarray(from * row, to * row), shape: [to - from, ...shape.slice(1)] };
  return dtype === undefined ? rows : { ...rows, dtype };
}

/** A loader's next share for one rank: made by the loader if it can, otherwise cut from the whole batch. */
export function nextShare(loader: Loader, name: string, part: Part): MaybePromise<Share | undefined> {
  if (loader.nextShare) return loader.nextShare(part.rank, part.size);
  return chain(loader.next(), (batch) => (batch === undefined ? undefined : shareOf(batch, name, part)));
}

export const shareOf = (batch: HostBatch, name: string, part: Part): Share =>
  cutShare(
    toBatch(batch, () => `Loader \`${name}\``),
    part,
  );
