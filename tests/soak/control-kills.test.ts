// A thousand commands to a training that is killed a hundred times. HOOKLINE_KILLS says how often; the tests do eight.
import { expect, test } from "vitest";
import { killControlled } from "../crash/control-kills.ts";

const kills = Number(process.env.HOOKLINE_KILLS ?? 100);

test(`${kills} kills: every command once`, { timeout: 2 ** 31 - 1 }, async () => {
  const tally = await killControlled(kills, 10);
  console.info(`commands: ${JSON.stringify(tally)}`);
  expect(tally).toMatchObject({ kills, sent: 10 * kills, lost: 0, twice: 0, inOrder: true });
});
