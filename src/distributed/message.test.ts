import { expect, it } from "vitest";
import { onAll } from "../../tests/support/local-ranks.ts";
import { encode, gatherMessages } from "./message.ts";

it("what some say reaches all, in the order of the ranks", async () => {
  const words = [undefined, { asked: "ünïcode ✓" }, undefined, [1, 2, 3]];
  const sent = words.map((word) => (word === undefined ? new Uint8Array(0) : encode(word)));
  const lengths = sent.map(({ length }) => length);
  const heard = await onAll(4, (strategy) => gatherMessages(strategy, sent[strategy.rank]!, lengths));
  for (const each of heard)
    expect(each).toEqual([
      { rank: 1, said: { asked: "ünïcode ✓" } },
      { rank: 3, said: [1, 2, 3] },
    ]);
});
