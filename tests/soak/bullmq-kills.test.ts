// Many more kills of Redis and of workers than the tests do.
import { expect, test } from "vitest";
import { redisIsHere, WHERE_FROM } from "../support/redis-server.ts";
import { killEverything } from "../tune/bullmq-kills.ts";

test.skipIf(!redisIsHere)(
  redisIsHere
    ? "a thousand trials, Redis and workers killed thirty times each"
    : `bullmq kills: skipped, ${WHERE_FROM}`,
  async () => {
    const { redis, workers } = await killEverything(1000, 30);
    expect([redis, workers]).toEqual([30, 30]);
  },
);
