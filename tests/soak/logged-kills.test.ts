// Hundreds of kills of a native training with loggers. HOOKLINE_KILLS says how many; the tests do five.
import { expect, test } from "vitest";
import { killLoggedTraining } from "../crash/logged-kills.ts";

const kills = Number(process.env.HOOKLINE_KILLS ?? 500);

test(
  `${kills} kills: the same parameters, and every record once in jsonl, CSV and TensorBoard`,
  { timeout: 2 ** 31 - 1 },
  async () => {
    const tally = await killLoggedTraining(kills, (message) => console.info(message));
    console.info(`kills: ${JSON.stringify(tally)}`);
    expect(tally.kills).toBe(kills);
  },
);
