// A process's rows of a batch, where several train together: neighbours, in the order of the processes, so that together
// they have the batch as one alone would.
import { type HostArray, samplesIn, toBatch } from "../core/arrays.ts";
import type { HostBatch, Loader, MaybePromise, Share } from "../core/model.ts";
import { chain } from "../core/maybe.ts";

/** Which process, of how many. */
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
 * The rows of a part, of those from `from` to `to`. Where there are fewer rows than processes, one without any has the
 * last row, so that all go through the same programs and events.
 */
export function rowsOfPart(from: number, to: number, { rank, size }: Part): Rows {
  const edge = (part: number): number => from + Math.floor((part * (to - from)) / size);
  const [first, last] = [edge(rank), edge(rank + 1)];
  return first < last ? { from: first, to: last, empty: false } : { from: to - 1, to, empty: true };
}

/** A part of a whole batch, in its memory. An array whose first dimension is not that of the batch belongs to all. */
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

/** A loader's next batch for one process: its rows alone, where the loader can make those, or cut from the whole. */
export function nextShare(loader: Loader, name: string, part: Part): MaybePromise<Share | undefined> {
  if (loader.nextShare) return loader.nextShare(part.rank, part.size);
  return chain(loader.next(), (batch) => (batch === undefined ? undefined : shareOf(batch, name, part)));
}

export const shareOf = (batch: HostBatch, name: string, part: Part): Share =>
  cutShare(
    toBatch(batch, () => `Loader \`${name}\``),
    part,
  );
