// What rows hold, read back from the batches of a loader.
import type { HostBatch, Loader } from "../../../src/core/model.ts";

/** One example within a row. */
export interface Segment {
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly positions: readonly number[];
}

export async function batchesOf(loader: Loader, epoch = 0, seed = 0): Promise<HostBatch[]> {
  const batches: HostBatch[] = [];
  loader.begin(epoch, seed);
  for (let batch = await loader.next(); batch; batch = await loader.next()) batches.push(batch);
  await loader.close?.();
  return batches;
}

/** The segments of all rows, without padding at the end of rows. A row without segments is one. */
export async function segmentsOf(loader: Loader): Promise<Segment[]> {
  const found: Segment[] = [];
  for (const { x, y, positions, segments } of await batchesOf(loader)) {
    const [rows, length] = x!.shape as [number, number];
    for (let row = 0; row < rows; row++) {
      const of = (field: HostBatch[string] | undefined): number[] =>
        field ? [...field.data.subarray(row * length, (row + 1) * length)] : [];
      const [ids, labels, numbers, places] = [of(x), of(y), of(segments), of(positions)];
      let last = labels.length;
      while (last > 0 && labels[last - 1] === -100) last--;
      for (let from = 0; from < last;) {
        let to = from + 1;
        while (to < last && numbers[to] === numbers[from]) to++;
        found.push({ x: ids.slice(from, to), y: labels.slice(from, to), positions: places.slice(from, to) });
        from = to;
      }
    }
  }
  return found;
}

/** The labels that count of each segment, with what the model sees before each: the same wherever the segment lies. */
export const countedOf = (segments: readonly Segment[]): string[] =>
  segments
    .map(({ x, y }) =>
      y.flatMap((label, i) => (label === -100 ? [] : [`${x.slice(0, i + 1).join(" ")} > ${label}`])).join("\n"),
    )
    .toSorted();
