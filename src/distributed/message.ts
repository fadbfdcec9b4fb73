// Words between ranks: what each has to say reaches all, through sums of numbers alone.
import type { Strategy } from "./strategy.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const encode = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** What every rank says, in the order of the ranks; those with nothing to say are left out. `lengths` are known to all. */
export async function gatherMessages(
  strategy: Pick<Strategy, "rank" | "allReduce">,
  own: Uint8Array,
  lengths: readonly number[],
): Promise<{ readonly rank: number; readonly said: unknown }[]> {
  const ends = lengths.map((_, i) => lengths.slice(0, i + 1).reduce((sum, length) => sum + length, 0));
  const startOf = (i: number): number => ends[i]! - lengths[i]!;
  // A byte is a number that floats keep exactly, and everyone else adds 0 to it.
  const all = new Float32Array(ends.at(-1)!);
  all.set(own, startOf(strategy.rank));
  await strategy.allReduce(all);
  return lengths.flatMap((length, i) => {
    if (length === 0) return [];
    const bytes = Uint8Array.from(all.subarray(startOf(i), ends[i]));
    return [{ rank: i, said: JSON.parse(decoder.decode(bytes)) as unknown }];
  });
}
