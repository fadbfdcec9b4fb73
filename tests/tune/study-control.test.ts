// A study that people steer while it runs, and trials that they pause and change: with files alone, as `hookline ctl` and
// the dashboard do it.
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hook } from "hookline";
import { readControl, sendCommand, type CommandRequest } from "hookline/runs";
import { asha, bullmq, grid, local, random, uniform, type Sampler, type TrialRecord } from "hookline/tune";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readStudy } from "../../src/tune/study-store.ts";
import { plainStudy, trialNamed } from "../support/plain-study.ts";
import { queueWorker } from "../support/queue-worker.ts";
import { redisIsHere, startRedis, WHERE_FROM, type RedisServer } from "../support/redis-server.ts";
import { tempDir } from "../support/temp-dir.ts";

const outcomes = async (dir: string): Promise<string[]> =>
  (await readControl(dir)).commands
    .toReversed()
    .map(({ verb, state, reason = "" }) => `${verb} ${state} ${reason}`.trim());

/** Until a training or a study takes commands there. */
async function listening(dir: string): Promise<void> {
  while ((await readControl(dir).catch(() => undefined))?.listener !== "alive") await sleep(10);
}

/** Until a command was decided on. */
async function send(dir: string, request: CommandRequest): Promise<void> {
  const { id } = await sendCommand(dir, request);
  while ((await readControl(dir)).commands.find((each) => each.id === id)?.state === "waiting") await sleep(5);
}

/** A study whose trials end when the test says so. */
function held(dir: string, trials = 3, concurrency = 1) {
  const release: (() => void)[] = [];
  const started: number[] = [];
  const study = plainStudy(
    async (trial) => {
      started.push(trial.number);
      await Promise.race([
        new Promise<void>((resolve) => (release[trial.number] = resolve)),
        new Promise((resolve) => trial.signal.addEventListener("abort", resolve)),
      ]);
      return { loss: trial.params.x };
    },
    { dir, trials, concurrency },
  );
  const until = async (numbers: readonly number[]): Promise<void> => {
    await expect.poll(() => started).toEqual(numbers);
  };
  return { study, release, started, until };
}

test("pause starts no new trials, continue does; more at once, more in all, one of one's own, one pruned", async () => {
  const dir = tempDir();
  const { study, release, started, until } = held(dir);
  const result = study.run();
  await until([0]);
  await send(dir, { verb: "pause", why: "lunch", by: "ada@lab3" });
  expect((await readControl(dir)).hello!.state).toBe("paused");
  release[0]!();
  await expect.poll(() => readStudy(dir)!.trials[0]!.status).toBe("completed");
  await sleep(50);
  expect(started).toEqual([0]);
  await send(dir, { verb: "setConcurrency", args: { n: 3 } });
  await send(dir, { verb: "enqueue", args: { params: { x: 0.125 } } });
  await send(dir, { verb: "continue" });
  await until([0, 1, 2, 3]);
  await send(dir, { verb: "setTrials", args: { n: 5 } });
  await send(dir, { verb: "prune", args: { trial: 2 }, why: "hopeless", by: "ada@lab3" });
  await until([0, 1, 2, 3, 4]);
  expect((await readControl(dir)).hello!.totalTrials).toBe(5);
  for (const number of [1, 3, 4]) release[number]!();
  const { status, trials } = await result;
  expect([status, trials.length]).toEqual(["completed", 5]);
  expect(trials[1]!.params).toEqual({ x: 0.125 });
  expect(trials[2]).toMatchObject({ status: "pruned", reason: "pruned by ada@lab3: hopeless" });
  expect(await outcomes(dir)).toEqual([
    "pause applied",
    "setConcurrency applied",
    "enqueue applied",
    "continue applied",
    "setTrials applied",
    "prune applied",
  ]);
  expect((await readControl(dir)).hello!.state).toBe("ended");
});

test("what a study refuses has a reason; a stop ends it, and it can be resumed with what was added", async () => {
  const dir = tempDir();
  const { study, until } = held(dir, 2);
  const result = study.run();
  await until([0]);
  await send(dir, { verb: "continue" });
  await send(dir, { verb: "enqueue", args: { params: { y: 1 } } });
  await send(dir, { verb: "prune", args: { trial: 7 } });
  await send(dir, { verb: "setTrials", args: { n: 9 }, at: { step: 3 } });
  await expect(sendCommand(dir, { verb: "setLr", args: { lr: 1 } })).rejects.toThrow("does not accept `setLr`");
  await send(dir, { verb: "enqueue", args: { params: { x: 0.5 } } });
  await send(dir, { verb: "stop", why: "enough", by: "ada@lab3" });
  expect(await result).toMatchObject({ status: "stopped", reason: "enough", requestedBy: "ada@lab3" });
  expect(await outcomes(dir)).toEqual([
    "continue refused The study is not paused.",
    "enqueue refused params: `x` is missing",
    "prune refused There is no trial 7: the last one is 0.",
    "setTrials refused A study has no steps: send it without `at`.",
    "enqueue applied",
    "stop applied",
  ]);
  const again = held(dir, 2);
  const resumed = again.study.run();
  await again.until([0]);
  again.release[0]!();
  await again.until([0, 1]);
  again.release[1]!();
  await again.until([0, 1, 2]);
  again.release[2]!();
  expect((await resumed).trials.map(({ params }) => params.x)).toEqual([expect.any(Number), 0.5, expect.any(Number)]);
});

test("an added trial takes no point of a grid away", async () => {
  const space = { x: uniform(0, 1) };
  const dir = tempDir();
  const study = plainStudy(
    async ({ params, number }) => {
      if (number === 0) await send(dir, { verb: "enqueue", args: { params: { x: 0.9 } } });
      return { loss: params.x };
    },
    { dir, sampler: grid(space, { points: 3 }) },
  );
  const { trials } = await study.run();
  const xs = trials.map(({ params }) => params.x as number);
  expect(xs[1]).toBe(0.9);
  expect(xs.toSpliced(1, 1)).toHaveLength(3);
  expect(new Set(xs).size).toBe(4);
});

/** Tells what the sampler and the scheduler could learn from. */
function spies() {
  const space = { x: uniform(0, 1) };
  const seen: (readonly TrialRecord[])[] = [];
  const inner = random(space);
  const sampler: Sampler = {
    name: "spy",
    suggest(number, trials, study) {
      seen.push(trials);
      return inner.suggest(number, trials, study);
    },
  };
  return { seen, sampler };
}

test("a trial that a person has changed does not teach; its timeout stands still while it is paused", async () => {
  const dir = tempDir();
  const { seen, sampler } = spies();
  const study = plainStudy(trialNamed("steered"), {
    dir,
    trials: 3,
    sampler,
    scheduler: asha({ grace: 1, maxSteps: 40 }),
    // A little more than the training takes, and less than its pause.
    runner: local({ processes: 1, timeout: 12 }),
  });
  const result = study.run();
  const first = `${dir}/trial-000`;
  await listening(first);
  await send(first, { verb: "setLr", args: { factor: 0.5 }, why: "by hand" });
  await send(first, { verb: "pause" });
  await sleep(12_500);
  await send(first, { verb: "continue" });
  const { trials, best, status } = await result;
  expect(status).toBe("completed");
  expect(trials.map(({ status: each, touched, failures }) => [each, touched, failures])).toEqual([
    ["completed", true, 0],
    ["completed", false, 0],
    ["completed", false, 0],
  ]);
  expect(seen.map((each) => each.map(({ number }) => number))).toEqual([[], [], [1]]);
  expect(trials.map(({ result: each }) => each!.loss)).toContain(best!.result!.loss);
  expect(readStudy(dir)!.trials[0]!.touched).toBe(true);
});

describe.skipIf(!redisIsHere)(redisIsHere ? "bullmq" : `bullmq: skipped, ${WHERE_FROM}`, () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis.stop());

  test("a pause of three times the lock loses nothing", async () => {
    const dir = tempDir();
    const LOCK = 4;
    const lost: string[] = [];
    const hook: Hook = { name: "lost", onTrialRecover: ({ error }) => void lost.push(error.message) };
    const study = plainStudy(trialNamed("steered"), {
      name: "paused",
      dir,
      trials: 1,
      hooks: [hook],
      runner: bullmq({ redis: redis.url, lock: LOCK }),
    });
    queueWorker(redis.url, "paused", { timeout: 20 });
    const result = study.run();
    const first = `${dir}/trial-000`;
    await listening(first);
    await send(first, { verb: "pause" });
    await sleep(3 * LOCK * 1000);
    expect((await readControl(first)).hello!.state).toBe("paused");
    await send(first, { verb: "continue" });
    const { trials } = await result;
    expect(trials.map(({ status, attempts, touched }) => [status, attempts, touched])).toEqual([
      ["completed", 1, false],
    ]);
    expect(lost).toEqual([]);
    expect(existsSync(`${first}/control.jsonl`)).toBe(true);
  });
});
