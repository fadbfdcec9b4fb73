// How many trivial trials a second go through Redis: suggested, queued, taken, run in warm processes, and counted.
import { fileURLToPath } from "node:url";
import { bullmq, random, Study, uniform } from "hookline/tune";
import { redisIsHere, startRedis, WHERE_FROM } from "../tests/support/redis-server.ts";
import { startWorker } from "../tests/support/trial-worker.ts";
import type { Report } from "./lib/report.ts";

const WARM_UP = 500;
const TRIALS = 5000;
const AIM = 500;
/** Trials of a worker at a time, and in the queue for it. */
const SIZES = [
  [1, 4],
  [2, 8],
  [4, 16],
  [8, 32],
] as const;

/** Trials a second, once everything is warm. */
async function rate(redis: string, name: string, concurrency: number): Promise<number> {
  const space = { x: uniform(0, 1) };
  let begun = 0;
  let ended = 0;
  await new Study({
    name,
    space,
    sampler: random(space),
    objective: "loss",
    trials: WARM_UP + TRIALS,
    concurrency,
    trial: "./tests/tune/trial-module.ts#trivial",
    runner: bullmq({ redis, directory: fileURLToPath(new URL("../", import.meta.url)) }),
    signals: false,
    hooks: [
      {
        name: "clock",
        onTrialComplete() {
          if (++ended === WARM_UP) begun = performance.now();
        },
      },
    ],
  }).run();
  return (TRIALS / (performance.now() - begun)) * 1000;
}

export async function tuneQueue(): Promise<Report> {
  if (!redisIsHere) throw new Error(WHERE_FROM);
  const redis = await startRedis();
  const rows: [string, number][] = [];
  try {
    for (const [size, concurrency] of SIZES) {
      const name = `bench-${size}`;
      const worker = startWorker(redis.url, name, size, ["--recycle", "1000000"]);
      try {
        const ended = worker.exit.then(() => Promise.reject(new Error(`the worker has ended: ${worker.said()}`)));
        rows.push([`a worker with ${size} at a time`, await Promise.race([rate(redis.url, name, concurrency), ended])]);
      } finally {
        worker.signal("SIGTERM");
        await worker.exit;
      }
    }
  } finally {
    await redis.stop();
  }
  return {
    name: "tune-queue",
    title: "Trivial trials through BullMQ on this machine, a second",
    columns: ["trials/s"],
    rows,
    aims: [
      {
        what: "trials through BullMQ, the best of these",
        measured: Math.max(...rows.map(([, perSecond]) => perSecond)),
        unit: "trials/s",
        limit: AIM,
        atLeast: true,
      },
    ],
  };
}
