// Trials that workers take from a queue in Redis: the same life as in local processes, and what is refused.
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Hook } from "hookline";
import { bullmq, local, StudyError, type BullmqOptions, type Runner, type Scheduler } from "hookline/tune";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { WorkerOptions } from "../../src/tune/runners/bullmq/worker.ts";
import { plainStudy, trialNamed, type PlainOptions, type PlainStudy } from "../support/plain-study.ts";
import { queueWorker } from "../support/queue-worker.ts";
import { redisIsHere, startRedis, WHERE_FROM, type RedisServer } from "../support/redis-server.ts";
import { tempDir } from "../support/temp-dir.ts";
import { startWorker } from "../support/trial-worker.ts";

const studyOf = (trial: string, runner: Runner, options: PlainOptions = {}): PlainStudy =>
  plainStudy(trialNamed(trial), { trials: 2, runner, warn: () => undefined, ...options });

/** Everything that happens, with what the processes say of it. */
function tracer(): { readonly hook: Hook; readonly events: string[] } {
  const events: string[] = [];
  const trialOf = ({ number, attempts, status }: { number: number; attempts: number; status: string }): string =>
    `trial ${number} (${status}, attempt ${attempts})`;
  const hook: Hook = {
    name: "tracer",
    onTuneSetup: ({ resumed }) => void events.push(`tuneSetup ${resumed}`),
    onTuneStepBegin: ({ iteration }) => void events.push(`tuneStepBegin ${iteration}`),
    onTuneStepEnd: ({ iteration }) => void events.push(`tuneStepEnd ${iteration}`),
    onTrialStart: ({ trial }) => void events.push(`trialStart ${trialOf(trial)}`),
    onTrialResult: ({ trial, trialStep, result }) =>
      void events.push(`trialResult ${trialOf(trial)} ${trialStep} ${result.loss}`),
    onTrialCheckpoint: ({ trial, checkpoint }) =>
      void events.push(`trialCheckpoint ${trialOf(trial)} ${nameOf(checkpoint.path)}`),
    onTrialSave: ({ trial, checkpoint }) => void events.push(`trialSave ${trialOf(trial)} ${nameOf(checkpoint.path)}`),
    onTrialRestore: ({ trial, checkpoint }) =>
      void events.push(`trialRestore ${trialOf(trial)} ${nameOf(checkpoint.path)} of ${checkpoint.trial}`),
    onTrialComplete: ({ trial, result }) => void events.push(`trialComplete ${trialOf(trial)} ${result.loss}`),
    onTrialRecover: ({ trial, error }) => void events.push(`trialRecover ${trialOf(trial)} ${plain(error.message)}`),
    onTrialError: ({ trial, error }) => void events.push(`trialError ${trialOf(trial)} ${plain(error.message)}`),
    onExperimentEnd: ({ status, reason }) => void events.push(`experimentEnd ${status} ${reason}`),
  };
  return { hook, events };
}

const nameOf = (path: string): string => path.split("/").slice(-2).join("/");
const plain = (message: string): string => message.replaceAll(/\S*\/trial-/g, "…/trial-");

describe.skipIf(!redisIsHere)(redisIsHere ? "bullmq" : `bullmq: skipped, ${WHERE_FROM}`, () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis.stop());

  const worker = (study: string, options: Partial<WorkerOptions> = {}): ReturnType<typeof queueWorker> =>
    queueWorker(redis.url, study, options);
  /** Once its controller is at work. */
  const claimed = (study: string): Promise<void> =>
    vi.waitFor(async () => expect(await redis.keys()).toContain(`hookline-study:${encodeURIComponent(study)}:claim`), {
      timeout: 300_000,
    });
  const queue = (options: Partial<BullmqOptions> = {}): Runner => bullmq({ redis: redis.url, ...options });

  describe("the life of a trial is that of one in a local process", () => {
    const prunes: Scheduler = {
      name: "prunes",
      decide: ({ number }, { step }) =>
        number === 1 && step === 3 ? { kind: "prune", reason: "not worth it" } : { kind: "continue" },
    };
    const exploits: Scheduler = {
      name: "exploits",
      decide: ({ number, params }, { step }) =>
        number === 1 && step === 5 && params.x !== 0.5
          ? { kind: "exploit", from: 0, params: { x: 0.5 }, reason: "the other is better" }
          : { kind: "continue" },
    };
    const cases: readonly [name: string, trial: string, options: PlainOptions][] = [
      ["success", "steps", {}],
      ["an error, and another try", "flaky", {}],
      ["a killed process, and another try", "diesOnce", { trials: 1 }],
      ["a final error", "crashes", { retries: 1, maxEqualFailures: 5 }],
      ["pruned", "steps", { scheduler: prunes }],
      ["goes on from another trial", "steps", { scheduler: exploits }],
      ["numbers that JSON has no words for", "diverges", { trials: 1 }],
    ];
    test.each(cases)("%s", async (name, trial, options) => {
      worker(name);
      const traces: string[][] = [];
      for (const runner of [local(), queue()]) {
        const { hook, events } = tracer();
        await studyOf(trial, runner, { ...options, name, dir: tempDir(), hooks: [hook] }).run();
        traces.push(events);
      }
      expect(traces[0]!.length).toBeGreaterThan(10);
      expect(traces[1]).toEqual(traces[0]);
    });

    test("interrupted, and on with another controller", async () => {
      worker("resumed");
      const traces: string[][] = [];
      for (const runner of [local, queue]) {
        const { hook, events } = tracer();
        const dir = tempDir();
        const stop = new AbortController();
        const stopper: Hook = { name: "s", onTrialResult: ({ trialStep }) => void (trialStep === 4 && stop.abort()) };
        const options: PlainOptions = { name: "resumed", dir, trials: 1 };
        const { status } = await studyOf("steps", runner(), { ...options, hooks: [hook, stopper] }).run({
          signal: stop.signal,
        });
        expect(status).toBe("interrupted");
        await studyOf("steps", runner(), { ...options, hooks: [hook] }).run();
        traces.push(events);
      }
      expect(traces[1]).toEqual(traces[0]);
      expect(traces[0]).toContain("trialRestore trial 0 (running, attempt 2) trial-000/at-3 of 0");
    });
  });

  test("several workers share the trials, and a study that ends leaves nothing in Redis", async () => {
    const pids = new Set<number>();
    worker("shared", { size: 2 });
    worker("shared", { size: 2 });
    const options = { name: "shared", dir: tempDir(), trials: 40, concurrency: 8 };
    const { trials } = await studyOf("tells", queue(), options).run();
    for (const { status, result, attempts } of trials) {
      expect([status, attempts]).toEqual(["completed", 1]);
      pids.add(result!.pid!);
    }
    expect(pids.size).toBeGreaterThan(1);
    expect(await redis.keys()).toEqual([]);
  });

  test("an abort withdraws trials that no worker has taken", async () => {
    const stop = new AbortController();
    const hook: Hook = { name: "h", onTrialStart: ({ trial }) => void (trial.number === 1 && stop.abort()) };
    const options = { name: "idle", concurrency: 2, hooks: [hook] };
    const { status, trials } = await studyOf("steps", queue(), options).run({ signal: stop.signal });
    expect(status).toBe("interrupted");
    expect(trials).toHaveLength(2);
  });

  test("a Redis that forgets is refused, unless that is accepted", async () => {
    const forgets = await startRedis(["--appendonly", "no", "--maxmemory-policy", "allkeys-lru"]);
    onTestFinished(() => forgets.stop());
    const run = (options: Partial<BullmqOptions>): Promise<unknown> =>
      studyOf("steps", queue({ redis: forgets.url, ...options }), { seconds: 0.2 }).run();
    await expect(run({})).rejects.toThrow(
      new StudyError(
        `bullmq: Redis at ${forgets.url} may lose trials: it has no append-only file, so that it forgets trials when it is restarted (set \`appendonly yes\`); it evicts keys when its memory is full (set \`maxmemory-policy noeviction\`; it is allkeys-lru). Or accept it: bullmq({ allowVolatile: true })`,
      ),
    );
    await expect(run({ allowVolatile: true })).resolves.toMatchObject({ status: "completed" });
  });

  test("a Redis that is not there: which, why, and no password", async () => {
    const run = studyOf("steps", bullmq({ redis: "redis://me:hunter22@127.0.0.1:1" })).run();
    await expect(run).rejects.toThrow(
      "bullmq: Redis at redis://…@127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1. Is it running, and is the address right?",
    );
    await expect(worker("x", { redis: "redis://127.0.0.1:1" }).ended).rejects.toThrow(
      "worker: Redis at redis://127.0.0.1:1 cannot be reached",
    );
  });

  test("a worker says what it waits for and where, and which studies there are instead", async () => {
    const stop = new AbortController();
    const running = studyOf("steps", queue(), { name: "a: study" }).run({ signal: stop.signal });
    await claimed("a: study");
    const said: string[] = [];
    worker("study", { say: (text) => void said.push(text) });
    await expect.poll(() => said).toHaveLength(2);
    expect(said).toEqual([
      `Waiting for the study \`study\` at ${redis.url}.`,
      'There is none of this name yet, but there is `a: study`. If that is meant: --study "a: study".',
    ]);
    stop.abort();
    await running;
  });

  test("a worker with other code is refused: both sides hear which", async () => {
    const other = tempDir();
    writeFileSync(`${other}/package.json`, "{}");
    writeFileSync(`${other}/trial.ts`, 'import "./part.ts";\nexport const train = () => ({ loss: 1 });\n');
    writeFileSync(`${other}/part.ts`, "export const a = 1;\n");
    const warnings: string[] = [];
    const stop = new AbortController();
    const options: PlainOptions = {
      name: "code",
      trial: "./trial.ts#train",
      warn: (text) => {
        warnings.push(text);
        stop.abort();
      },
    };
    const here = tempDir();
    for (const file of ["package.json", "trial.ts"]) copyFileSync(`${other}/${file}`, `${here}/${file}`);
    // What the module imports counts too.
    writeFileSync(`${here}/part.ts`, "export const a = 2;\n");
    const running = studyOf("", queue({ directory: other }), options).run({ signal: stop.signal });
    const both =
      /the study runs hookline \d\S+ with trial code ([0-9a-f]{12}), this worker hookline \d\S+ with trial code (?!\1)[0-9a-f]{12}\./;
    await expect(worker("code", { directory: here }).ended).rejects.toThrow(both);
    await running;
    expect(warnings).toEqual([expect.stringMatching(both)]);
    expect(warnings[0]).toContain(`The worker on ${hostname()} (process ${process.pid}) was refused`);
    worker("code", { directory: other });
    const { trials } = await studyOf("", queue({ directory: other }), { ...options, warn: () => undefined }).run();
    expect(trials.map(({ status }) => status)).toEqual(["completed", "completed"]);
  });

  test("two controllers: the second is refused, and the first goes on", async () => {
    const stop = new AbortController();
    const first = studyOf("steps", queue({ lock: 5 }), { name: "two" }).run({ signal: stop.signal });
    await claimed("two");
    await expect(studyOf("steps", queue({ lock: 5 }), { name: "two" }).run()).rejects.toThrow(
      `bullmq: another controller is at work on the study \`two\` (process ${process.pid} on ${hostname()}). A study has one: wait for it or stop it, or give this study another \`name\`.`,
    );
    stop.abort();
    expect(await first).toMatchObject({ status: "interrupted" });
  });

  test("a directory that is not shared is an error that says so", async () => {
    worker("apart");
    const failed: string[] = [];
    const hook: Hook = {
      name: "h",
      onTrialStart: ({ trial }) => rmSync(trial.runDir!, { recursive: true }),
      onTrialError: ({ error }) => void failed.push(error.message),
    };
    await studyOf("steps", queue(), { name: "apart", dir: tempDir(), trials: 1, retries: 0, hooks: [hook] }).run();
    expect(failed).toEqual([
      expect.stringMatching(/^There is no directory \S+trial-000 on .* must be on a disk that all machines share/),
    ]);
  });

  test("mistakes are errors that say what to do", async () => {
    const closure = plainStudy(() => ({ loss: 1 }), { trials: 1, runner: queue() });
    await expect(closure.run()).rejects.toThrow(/^bullmq: trials run in other processes/);
    expect(() => bullmq({ redis: "localhost" })).toThrow(
      'bullmq: Expected `redis` to be an address such as redis://localhost:6379, got `"localhost"` (string)',
    );
    const cli = startWorker("localhost", "x");
    expect(await cli.exit).toBe(2);
    expect(cli.said()).toMatch(/^error: worker: Expected `redis` to be an address/);
  });
});
