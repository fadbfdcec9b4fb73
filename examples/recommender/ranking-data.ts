// What a ranking is judged by: for each user what was seen before, and the items that are to be found.
import type { Arrays } from "hookline/data";
import { HISTORY_LENGTH, latest } from "./history.ts";
import { type Catalogue, type Interactions, itemsByUser } from "./interactions.ts";
import { NO_ITEM } from "./no-item.ts";

/**
 * One row for each user with something in `relevant`: `{ user: [n], relevant: [n, r], seen: [n, items], history: [n, h] }`.
 * Items of `seen` are left out of the ranking; all others of the catalogue take part in it.
 */
export function rankingData(
  relevant: Interactions,
  seen: readonly Interactions[],
  { users, items }: Catalogue,
): Arrays {
  const wanted = itemsByUser([relevant], users);
  const known = itemsByUser(seen, users);
  const judged = Int32Array.from(wanted.keys()).filter((user) => wanted[user]!.length > 0);
  const width = judged.reduce((most, user) => Math.max(most, wanted[user]!.length), 0);
  const toFind = new Int32Array(judged.length * width).fill(NO_ITEM);
  const isSeen = new Uint8Array(judged.length * items);
  const history = new Int32Array(judged.length * HISTORY_LENGTH);
  judged.forEach((user, row) => {
    toFind.set(wanted[user]!, row * width);
    for (const item of known[user]!) isSeen[row * items + item] = 1;
    // Chosen before and chosen again: it can be found again.
    for (const item of wanted[user]!) isSeen[row * items + item] = 0;
    history.set(latest(known[user]!), row * HISTORY_LENGTH);
  });
  return {
    user: judged,
    relevant: { data: toFind, shape: [judged.length, width] },
    seen: { data: isSeen, shape: [judged.length, items], dtype: "bool" },
    history: { data: history, shape: [judged.length, HISTORY_LENGTH] },
  };
}
