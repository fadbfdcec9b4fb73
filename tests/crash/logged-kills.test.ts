// A native training with loggers that is killed again and again: same bits, every record once. `npm run soak` kills more.
import { expect, test } from "vitest";
import { killLoggedTraining } from "./logged-kills.ts";

test("five kills: the same parameters, and every record once in jsonl, CSV and TensorBoard", async () => {
  const tally = await killLoggedTraining(5);
  console.info(`kills: ${JSON.stringify(tally)}`);
  expect(tally.kills).toBe(5);
});
