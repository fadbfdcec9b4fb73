// What may go wrong between a study and its workers: Redis goes away, a worker is killed or stopped, a trial blocks, the
// controller is killed.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hook } from "hookline";
import { bullmq } from "hookline/tune";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startNoting } from "../support/noting-child.ts";
import { plainStudy, trialNamed, type PlainOptions, type PlainStudy } from "../support/plain-study.ts";
import { compiled } from "../support/programs.ts";
import { redisIsHere, startRedis, WHERE_FROM, type RedisServer } from "../support/redis-server.ts";
import { tempDir } from "../support/temp-dir.ts";
import { startWorker, type TrialWorker } from "../support/trial-worker.ts";
import { killEverything } from "./bullmq-kills.ts";
import { hasNamespaces } from "./study-schedule.ts";

const linesOf = (file: string): string[] => readFileSync(file, "utf8").trimEnd().split("\n");

describe.skipIf(!redisIsHere)(redisIsHere ? "bullmq, faults" : `bullmq, faults: skipped, ${WHERE_FROM}`, () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis.stop());

  const studyOf = (trial: string, options: PlainOptions): PlainStudy => {
    // Long enough that no worker loses it on a machine that is only busy.
    const runner = bullmq({ redis: redis.url, lock: 5 });
    return plainStudy(trialNamed(trial), { trials: 1, retries: 0, runner, warn: () => undefined, ...options });
  };

  function worker(study: string): TrialWorker {
    const started = startWorker(redis.url, study);
    onTestFinished(async () => {
      started.signal("SIGKILL");
      await started.exit;
    });
    return started;
  }

  /** Does it when the trial has reported that step. */
  const at = (step: number, what: () => void): Hook => ({
    name: "at",
    onTrialResult: ({ trialStep }) => void (trialStep === step && what()),
  });

  test("a trial that blocks its process for longer than the lock is started once and finished once", async () => {
    const dir = tempDir();
    worker("blocks");
    worker("blocks");
    const runner = bullmq({ redis: redis.url, lock: 4 });
    const { trials } = await studyOf("blocks", { name: "blocks", dir, runner }).run();
    expect(trials[0]).toMatchObject({ status: "completed", attempts: 1, failures: 0 });
    expect(linesOf(`${dir}/trial-000/starts.txt`)).toEqual(["0"]);
  });

  const restart = async (meanwhile: () => Promise<unknown>): Promise<void> => {
    await redis.kill();
    await meanwhile();
    await redis.start();
  };

  test("Redis is restarted in the middle: one warning, and the trial goes on", async () => {
    const dir = tempDir();
    const warnings: string[] = [];
    worker("restart");
    const runner = bullmq({ redis: redis.url, lock: 8 });
    const hooks = [at(5, () => void restart(() => sleep(300)))];
    const options = { name: "restart", dir, runner, hooks, warn: (text: string) => void warnings.push(text) };
    const { trials } = await studyOf("slow", options).run();
    expect(trials[0]).toMatchObject({ status: "completed", attempts: 1 });
    expect(trials[0]!.reports.map(({ step }) => step)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect(warnings).toEqual([`bullmq: Redis at ${redis.url} is away. Waiting for it.`]);
  });

  test("Redis is away for longer than the lock: the worker gives the trial up, which goes on from its checkpoint", async () => {
    const dir = tempDir();
    worker("away");
    // Until the worker has ended the trial's process.
    const givenUp = async (): Promise<void> => {
      const pid = Number(linesOf(`${dir}/trial-000/starts.txt`)[0]!.split(" ")[2]);
      await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), { timeout: 300_000 });
    };
    let times = 0;
    const hooks = [at(5, () => void (times++ === 0 && restart(givenUp)))];
    const { trials } = await studyOf("slow", { name: "away", dir, hooks }).run();
    expect(trials[0]).toMatchObject({ status: "completed", failures: 0 });
    expect(trials[0]!.attempts).toBeGreaterThan(1);
    expect(trials[0]!.reports.map(({ step }) => step)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    const starts = linesOf(`${dir}/trial-000/starts.txt`).map((line) => line.split(" "));
    expect(Number(starts[1]![1])).toBeGreaterThanOrEqual(4);
  });

  test("a worker that is killed: the trial goes on elsewhere from its checkpoint, and has not failed", async () => {
    const dir = tempDir();
    const first = worker("kill");
    const recovered: string[] = [];
    const hook: Hook = { name: "h", onTrialRecover: ({ error }) => void recovered.push(error.message) };
    const kill = at(8, () => {
      first.signal("SIGKILL");
      worker("kill");
    });
    const { trials } = await studyOf("slow", { name: "kill", dir, hooks: [kill, hook] }).run();
    expect(trials[0]).toMatchObject({ status: "completed", attempts: 2, failures: 0 });
    expect(recovered).toEqual([expect.stringMatching(/^The worker of the trial is gone: process \d+ on /)]);
    const [, second] = linesOf(`${dir}/trial-000/starts.txt`);
    expect(Number(second!.split(" ")[1])).toBeGreaterThanOrEqual(7);
  });

  test("a worker that is stopped: the trial leaves in good order, and goes on elsewhere", async () => {
    const dir = tempDir();
    const first = worker("stop");
    const hooks = [at(5, () => first.signal("SIGTERM"))];
    const running = studyOf("slow", { name: "stop", dir, hooks }).run();
    expect(await first.exit).toBe(143);
    worker("stop");
    const { trials } = await running;
    expect(trials[0]).toMatchObject({ status: "completed", attempts: 2, failures: 0 });
  });

  test("a controller that is killed: its trials end, and the next one goes on from their checkpoints", async () => {
    const dir = tempDir();
    worker("controller");
    const options = JSON.stringify({ dir, redis: redis.url, name: "controller" });
    const script = compiled(new URL("./queue-controller-child.ts", import.meta.url));
    const child = startNoting<{ note: "reported" }>([script, options]);
    await child.until("reported");
    child.signal("SIGKILL");
    await child.exit;
    const { trials } = await studyOf("slow", { name: "controller", dir }).run();
    expect(trials[0]).toMatchObject({ status: "completed", attempts: 2, failures: 0 });
    const [first, second] = linesOf(`${dir}/trial-000/starts.txt`).map((line) => line.split(" "));
    expect(Number(second![1])).toBeGreaterThanOrEqual(3);
    expect(second![2]).not.toBe(first![2]);
    // It was gone before the next one began: no step was done twice at once.
    expect(trials[0]!.reports.map(({ step }) => step)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
  });

  test.skipIf(!hasNamespaces)("a second controller in another PID namespace is refused", async () => {
    const stop = new AbortController();
    const first = studyOf("steps", { name: "namespaces" }).run({ signal: stop.signal });
    const claim = "hookline-study:namespaces:claim";
    await vi.waitFor(async () => expect(await redis.keys()).toContain(claim), { timeout: 300_000 });
    const options = JSON.stringify({ dir: tempDir(), redis: redis.url, name: "namespaces", trials: 1 });
    const flags = ["--pid", "--fork", "--mount-proc", "--kill-child", process.execPath];
    const script = compiled(new URL("./soak-controller-child.ts", import.meta.url));
    const second = startNoting([...flags, script, options], "unshare");
    expect((await second.exit).code).toBe(1);
    expect(second.errors()).toContain("bullmq: another controller is at work on the study `namespaces`");
    stop.abort();
    expect(await first).toMatchObject({ status: "interrupted" });
  });

  test("80 trials, Redis and workers killed three times each: none lost, none counted twice", async () => {
    const { redis: ofRedis, workers, lost, resumed } = await killEverything(80, 3);
    expect([ofRedis, workers]).toEqual([3, 3]);
    expect(lost).toBeGreaterThan(0);
    expect(resumed).toBeGreaterThan(0);
  });
});
