// Killed again and again, a training run comes to the same end, and nothing is torn or left behind.
import { expect, test } from "vitest";
import { trainWithKills } from "./training-kills.ts";

test("four kills", async () => {
  const tally = await trainWithKills(4);
  console.info(`kills: ${JSON.stringify(tally)}`);
  expect(tally.kills).toBe(4);
});
