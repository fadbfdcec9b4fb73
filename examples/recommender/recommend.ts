// From scores to a list that someone can read.
import type { HostArray } from "hookline";

/** The k items with the highest scores in one row of scores [users, items], without those that are seen. */
export function topItems(scores: HostArray, seen: HostArray, row: number, k: number): number[] {
  const items = scores.shape[1]!;
  const [score, isSeen] = [scores, seen].map(({ data }) => data.subarray(row * items, (row + 1) * items));
  const unseen = Array.from(score!.keys()).filter((item) => isSeen![item] === 0);
  return unseen.sort((a, b) => score![b]! - score![a]!).slice(0, k);
}
