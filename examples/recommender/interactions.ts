// Who chose what, and when: one row for each interaction, in arrays of equal length. Data has this form from the reader
// over the split to the loaders.
import type { Datasets } from "hookline";

export type Interactions = Readonly<{
  /** 0 … users − 1 */
  user: Int32Array;
  /** 0 … items − 1 */
  item: Int32Array;
  rating: Float32Array;
  /** Seconds since 1970. */
  timestamp: Int32Array;
  /** What the data set itself calls this row's user and item. */
  userId: Int32Array;
  itemId: Int32Array;
}>;

export interface Catalogue {
  readonly users: number;
  readonly items: number;
}

/** How many users and items there are. Counted over all parts: an item that is only in the test part is ranked too. */
export function catalogueOf({ train, val, test }: Datasets<Interactions>): Catalogue {
  const parts = [train, val, test].filter((part) => part !== undefined);
  return {
    users: Math.max(...parts.map(({ user }) => countOf(user))),
    items: Math.max(...parts.map(({ item }) => countOf(item))),
  };
}

/** How many numbers from 0 it takes to have all of these. */
const countOf = (ids: Int32Array): number => ids.reduce((count, id) => Math.max(count, id + 1), 0);

/** How often each of 0 … size − 1 is there. */
export function frequencies(ids: Int32Array, size = countOf(ids)): Int32Array {
  const count = new Int32Array(size);
  for (const id of ids) count[id]!++;
  return count;
}

/** The items of each user, the oldest choice first. */
export function itemsByUser(parts: readonly Interactions[], users: number): number[][] {
  const rows = parts.flatMap(({ user, item, timestamp }) =>
    Array.from(user, (_, row) => ({ user: user[row]!, item: item[row]!, time: timestamp[row]! })),
  );
  const items = Array.from({ length: users }, (): number[] => []);
  for (const { user, item } of rows.sort((a, b) => a.time - b.time)) items[user]!.push(item);
  return items;
}

/** Any numbers become 0, 1, 2, … in the order in which they first appear. */
export function renumber(ids: Int32Array): Int32Array {
  const known = new Map<number, number>();
  return ids.map((id) => {
    if (!known.has(id)) known.set(id, known.size);
    return known.get(id)!;
  });
}

/** The rows that `keep` chooses, with users and items renumbered. */
function filterRows(data: Interactions, keep: (row: number) => boolean): Interactions {
  const rows = Int32Array.from(data.user.keys()).filter(keep);
  const pick = (column: Int32Array): Int32Array => rows.map((row) => column[row]!);
  return {
    user: renumber(pick(data.user)),
    item: renumber(pick(data.item)),
    rating: Float32Array.from(rows, (row) => data.rating[row]!),
    timestamp: pick(data.timestamp),
    userId: pick(data.userId),
    itemId: pick(data.itemId),
  };
}

/** Leaves out users and items with fewer than `k` interactions, again and again until none has fewer. */
export function kCore(data: Interactions, k: number): Interactions {
  for (;;) {
    const { user, item } = data;
    const [ofUser, ofItem] = [frequencies(user), frequencies(item)];
    const kept = filterRows(data, (row) => ofUser[user[row]!]! >= k && ofItem[item[row]!]! >= k);
    if (kept.user.length === user.length) return data;
    data = kept;
  }
}
