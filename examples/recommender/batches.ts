// What the models learn from: batches of interactions, with items to tell the chosen ones from.
import { histories, HISTORY_LENGTH } from "./history.ts";
import type { MakeBatch } from "./interaction-loader.ts";
import { type Catalogue, frequencies, type Interactions, itemsByUser } from "./interactions.ts";

/** For BPR, `{ user: [B], item: [B], negatives: [B, n] }`: each with `n` items that its user has not seen. */
export function withNegatives(data: Interactions, { users, items }: Catalogue, n: number): MakeBatch {
  const seen = itemsByUser([data], users).map((list) => new Set(list));
  const sated = seen.findIndex((set) => set.size >= items);
  if (sated >= 0) throw new Error(`User ${sated} has seen all ${items} items: there is no negative to draw.`);
  return (rows, rng) => {
    const negatives = new Int32Array(rows.length * n);
    rows.forEach((row, i) => {
      const known = seen[data.user[row]!]!;
      for (let j = i * n; j < (i + 1) * n; j++) {
        do negatives[j] = rng.int(items);
        while (known.has(negatives[j]!));
      }
    });
    return { ...chosen(data, rows), negatives: { data: negatives, shape: [rows.length, n] } };
  };
}

/**
 * For the two towers, `{ user: [B], item: [B], history: [B, h], share: [B], seen: [B, B] }`: the items of a batch are
 * negatives for each other's users, except where `seen` says that this user knows that item too. `share` is the item's
 * share of all interactions, and so of the batch: how often it serves as a negative.
 */
export function inBatch(data: Interactions, { users, items }: Catalogue): MakeBatch {
  const knows = new Uint8Array(users * items);
  data.user.forEach((user, row) => (knows[user * items + data.item[row]!] = 1));
  const frequency = frequencies(data.item, items);
  const before = histories(data);
  return (rows) => {
    const size = rows.length;
    const { user, item } = chosen(data, rows);
    const history = new Int32Array(size * HISTORY_LENGTH);
    const seen = new Uint8Array(size * size);
    rows.forEach((row, i) => {
      history.set(before[row]!, i * HISTORY_LENGTH);
      const known = user.data[i]! * items;
      for (let j = 0; j < size; j++) seen[i * size + j] = knows[known + item.data[j]!]!;
      seen[i * size + i] = 0;
    });
    return {
      user,
      item,
      history: { data: history, shape: [size, HISTORY_LENGTH] },
      share: { data: Float32Array.from(item.data, (id) => frequency[id]! / data.item.length), shape: [size] },
      seen: { data: seen, shape: [size, size], dtype: "bool" },
    };
  };
}

function chosen({ user, item }: Interactions, rows: Uint32Array) {
  const pick = (column: Int32Array) => ({ data: Int32Array.from(rows, (row) => column[row]!), shape: [rows.length] });
  return { user: pick(user), item: pick(item) };
}
