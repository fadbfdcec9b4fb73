// What a user chose last: what the two-tower model knows of someone.
import type { Interactions } from "./interactions.ts";
import { NO_ITEM } from "./no-item.ts";

export const HISTORY_LENGTH = 10;

/** The last of these items (the oldest first) in a row of HISTORY_LENGTH, filled up with NO_ITEM. */
export function latest(items: readonly number[]): Int32Array {
  const row = new Int32Array(HISTORY_LENGTH).fill(NO_ITEM);
  row.set(items.slice(-HISTORY_LENGTH));
  return row;
}

/** For each interaction what its user had chosen before it: a model may not learn from what comes later. */
export function histories({ user, item, timestamp }: Interactions): Int32Array[] {
  const chosen = new Map<number, number[]>();
  const before: Int32Array[] = [];
  for (const row of Array.from(user.keys()).sort((a, b) => timestamp[a]! - timestamp[b]!)) {
    const items = chosen.get(user[row]!) ?? [];
    before[row] = latest(items);
    chosen.set(user[row]!, [...items, item[row]!].slice(-HISTORY_LENGTH));
  }
  return before;
}
