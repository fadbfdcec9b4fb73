// A study under a random schedule of faults: HOOKLINE_SOAK_SECONDS (default 600) says for how long, HOOKLINE_SOAK_SEED which.
import { expect, test } from "vitest";
import { redisIsHere, WHERE_FROM } from "../support/redis-server.ts";
import { hasNamespaces, soakStudy } from "../tune/study-schedule.ts";

const seconds = Number(process.env["HOOKLINE_SOAK_SECONDS"] ?? 600);
const seed = Number(process.env["HOOKLINE_SOAK_SEED"] ?? 1);

test.skipIf(!redisIsHere || !hasNamespaces)(
  redisIsHere
    ? "every trial finishes once, nothing counts twice, and there is one controller"
    : `skipped, ${WHERE_FROM}`,
  async () => {
    const tally = await soakStudy(seconds, seed);
    console.log(`seed ${seed}, ${seconds} s:`, tally);
    expect(tally.trials).toBeGreaterThan(0);
  },
  (seconds + 600) * 1000,
);
