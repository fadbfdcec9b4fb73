// What somebody who can write to a study's Redis can do: waste time. With a key, nothing else; without one, no process ends
// and no code of another project runs.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import type { Hook } from "hookline";
import { bullmq, local, type Runner } from "hookline/tune";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { codeOf } from "../../src/tune/runners/bullmq/code-digest.ts";
import type { Claim } from "../../src/tune/runners/bullmq/claim.ts";
import { plainStudy, trialNamed, type PlainOptions, type PlainStudy } from "../support/plain-study.ts";
import { queueWorker } from "../support/queue-worker.ts";
import { redisIsHere, startRedis, WHERE_FROM, type RedisServer } from "../support/redis-server.ts";
import { isSoak } from "../support/repetitions.ts";
import { tempDir } from "../support/temp-dir.ts";
import { startWorker, type TrialWorker } from "../support/trial-worker.ts";
import { RedisAttacker, type AttackKind } from "./redis-attacker.ts";

// Processes start, and locks run out, on a machine that may be busy.
vi.setConfig({ testTimeout: 900_000 });

const KEY = "a key of more than sixteen characters";

describe.skipIf(!redisIsHere)(redisIsHere ? "bullmq, attacked" : `bullmq, attacked: skipped, ${WHERE_FROM}`, () => {
  let redis: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.url);
  });
  afterAll(async () => {
    client.disconnect();
    await redis.stop();
  });

  const queue = (key?: string): Runner => bullmq({ redis: redis.url, lock: 10, ...(key !== undefined && { key }) });
  const studyOf = (name: string, options: PlainOptions = {}): PlainStudy =>
    plainStudy(trialNamed("steps"), { name, trials: 2, retries: 0, dir: tempDir(), warn: () => undefined, ...options });
  const whenStarted = (what: () => Promise<void>): Hook => ({ name: "attack", onTrialStart: what });

  test("messages of no known form are dropped and counted, with one warning", async () => {
    queueWorker(redis.url, "messages");
    const warnings: string[] = [];
    const bad = [
      "",
      "null",
      "[null]",
      "{}",
      "[{}]",
      "nonsense",
      '[{"run":"x","worker":"y","trial":0}]',
      "[".repeat(1e5),
    ];
    let isDone = false;
    const attack = whenStarted(async () => {
      if (isDone) return;
      isDone = true;
      for (const text of bad)
        for (const at of ["up", "news"]) await client.publish(`hookline-study:messages:${at}`, text);
    });
    const options = { hooks: [attack], runner: queue(), warn: (text: string) => void warnings.push(text) };
    const { status, trials } = await studyOf("messages", options).run();
    expect([status, trials.length]).toEqual(["completed", 2]);
    const dropped = warnings.filter((text) => text.startsWith("bullmq: dropped"));
    expect(dropped.length, warnings.join("\n")).toBeLessThanOrEqual(2);
    expect(dropped.at(-1)).toMatch(/^bullmq: dropped 8 messages from Redis so far: 8 of no form/);
  });

  const aliveClaim = (changes: Partial<Claim>): Claim => ({
    pid: process.pid,
    host: hostname(),
    started: "",
    run: "forged",
    lockMs: 2000,
    trial: "./trial.mjs#train",
    modules: ["./trial.mjs#train"],
    code: { hookline: "0.0.0", trial: "" },
    dir: undefined,
    ...changes,
  });

  test("claims of no known form do not end a worker, nor a controller that finds them in its place", async () => {
    const claimKey = "hookline-study:claims:claim";
    const { ended } = queueWorker(redis.url, "claims");
    let isEnded = false;
    void ended.then(
      () => (isEnded = true),
      () => (isEnded = true),
    );
    const spoil = async (): Promise<void> => {
      for (const text of ["", "null", "[]", "{}", '{"run":"x"}', JSON.stringify(aliveClaim({ modules: [] })), "%"]) {
        await client.set(claimKey, text);
        // A worker looks when it hears something.
        await client.publish("hookline-study:claims:news", '{"what":"come","run":"x"}');
        await client.publish("hookline-study:claims:news", "x");
      }
      await client.del(claimKey);
      await client.rpush(claimKey, "a list");
    };
    await spoil();
    const { status, trials } = await studyOf("claims", { runner: queue(), hooks: [whenStarted(spoil)] }).run();
    expect([status, ...trials.map((each) => each.status)]).toEqual(["completed", "completed", "completed"]);
    expect(isEnded).toBe(false);
  });

  describe("code that a forged claim names", () => {
    let directory: string;
    let elsewhere: string;
    const marks = (): boolean => existsSync(join(elsewhere, "ran"));
    beforeEach(() => {
      directory = tempDir();
      elsewhere = tempDir();
      for (const dir of [directory, elsewhere, join(elsewhere, "runs/trial-000")]) mkdirSync(dir, { recursive: true });
      writeFileSync(join(directory, "package.json"), "{}");
      writeFileSync(join(elsewhere, "package.json"), "{}");
      const mark = `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(join(elsewhere, "ran"))}, "");\n`;
      writeFileSync(join(elsewhere, "evil.mjs"), `${mark}export const train = () => ({ loss: 0 });\n`);
      const record = {
        schema: "hookline.sweep",
        version: 1,
        config: { file: "../sweep.yaml", project: ".." },
        overrides: [],
        space: {},
        objectives: ["val/loss"],
        experiment: { file: "../sweep.yaml", raw: { data: "./evil.mjs#train" } },
      };
      writeFileSync(join(elsewhere, "runs/sweep.json"), JSON.stringify(record));
      writeFileSync(join(elsewhere, "sweep.yaml"), "experiment:\n  data: ./evil.mjs#train\n");
    });
    test.each([
      ["a module above the project", () => `../${elsewhere.split("/").at(-1)}/evil.mjs#train`, /leaves the project/],
      ["a sweep of another project", () => join(elsewhere, "runs/sweep.json"), /leaves the project/],
      ["a package's export", () => "bullmq#Worker", /is of a package.*--allow bullmq#Worker/],
    ])("%s is not run, and the worker waits on", async (name, trialOf, why) => {
      const study = name.replaceAll(" ", "-");
      const trial = trialOf();
      const dir = trial.endsWith(".json") ? join(elsewhere, "runs") : undefined;
      const warnings: string[] = [];
      const { ended } = queueWorker(redis.url, study, { directory, warn: (text) => void warnings.push(text) });
      const claim = aliveClaim({ trial, modules: [trial], code: codeOf([trial], directory), dir });
      const heard: string[] = [];
      const ears = new Redis(redis.url);
      onTestFinished(() => ears.disconnect());
      ears.on("message", (_, text) => void heard.push(text));
      await ears.subscribe(`hookline-study:${study}:up`);
      await client.set(`hookline-study:${study}:claim`, JSON.stringify(claim));
      // It says so to both sides; one that would run it takes it from the queue at once.
      await vi.waitFor(() => expect(heard.join("\n")).toMatch(why), { timeout: 300_000 });
      expect(warnings[0]).toMatch(why);
      const next = Promise.race([ended.then(() => "ended"), client.ping()]);
      expect(await next).toBe("PONG");
      expect(marks()).toBe(false);
    });

    test("a worker with `allow` runs that, and nothing else of its project", async () => {
      for (const name of ["good", "other"])
        writeFileSync(join(directory, `${name}.mjs`), "export const train = () => ({ loss: 1 });\n");
      const warnings: string[] = [];
      queueWorker(redis.url, "allow", {
        directory,
        allow: ["./good.mjs#train"],
        warn: (text) => void warnings.push(text),
      });
      const runner = bullmq({ redis: redis.url, directory });
      const stop = new AbortController();
      const other = await studyOf("allow", { trial: "./other.mjs#train", runner, warn: () => stop.abort() }).run({
        signal: stop.signal,
      });
      expect(other.status).toBe("interrupted");
      expect(warnings[0]).toContain(
        "`./other.mjs#train` is not among what this worker may run (--allow): ./good.mjs#train.",
      );
      const { trials } = await studyOf("allow", { trial: "./good.mjs#train", runner }).run();
      expect(trials.map(({ status }) => status)).toEqual(["completed", "completed"]);
    });
  });

  describe("a key", () => {
    test("a worker without it, or with another, works for nobody; one that has it does", async () => {
      const warnings: string[] = [];
      const warn = (text: string): void => void warnings.push(text);
      queueWorker(redis.url, "key", { warn });
      queueWorker(redis.url, "key", { key: `${KEY}!`, warn });
      const running = studyOf("key", { runner: queue(KEY) }).run();
      await vi.waitFor(() => expect(warnings).toHaveLength(2), { timeout: 300_000 });
      expect(warnings).toContainEqual(
        expect.stringMatching(/^worker: dropped \d+ messages? .* not signed with this process's key/),
      );
      expect(warnings).toContainEqual(
        expect.stringMatching(
          /^worker: dropped \d+ messages? .* signed, while this process has no key \(HOOKLINE_QUEUE_KEY\)/,
        ),
      );
      queueWorker(redis.url, "key", { key: KEY });
      expect((await running).trials.map(({ status }) => status)).toEqual(["completed", "completed"]);
    });

    test("comes from the environment too, and must not be short", async () => {
      vi.stubEnv("HOOKLINE_QUEUE_KEY", KEY);
      onTestFinished(() => void vi.unstubAllEnvs());
      queueWorker(redis.url, "env", { key: KEY });
      expect((await studyOf("env", { runner: queue() }).run()).trials).toHaveLength(2);
      vi.stubEnv("HOOKLINE_QUEUE_KEY", "short");
      await expect(studyOf("env", { runner: queue() }).run()).rejects.toThrow(
        "HOOKLINE_QUEUE_KEY: Expected `key` to be a text of 16 characters or more",
      );
      expect(() => queue("short")).toThrow("bullmq: Expected `key` to be a text of 16 characters or more");
    });
  });

  const TRIALS = isSoak ? 24 : 8;
  const ROUNDS = 50 * TRIALS;

  /** The attacker keeps pace with the study: so many rounds for each trial that begins and that ends. */
  async function survive(kind: AttackKind, key: string | undefined, seed: number): Promise<number> {
    const name = `${kind}-${seed}`;
    const trials = TRIALS;
    const perTrial = ROUNDS / TRIALS / 2;
    if (key !== undefined) vi.stubEnv("HOOKLINE_QUEUE_KEY", key);
    const workers: TrialWorker[] = [0, 1].map(() => startWorker(redis.url, name, 2));
    vi.unstubAllEnvs();
    onTestFinished(async () => {
      for (const worker of workers) worker.signal("SIGKILL");
      await Promise.all(workers.map(({ exit }) => exit));
    });
    const attacker = await RedisAttacker.start(redis.url, name, kind, seed);
    onTestFinished(() => attacker.stop());
    const warnings: string[] = [];
    const attack: Hook = {
      name: "attack",
      onTrialStart: () => attacker.attack(perTrial),
      onTrialComplete: () => attacker.attack(perTrial),
    };
    const options = {
      trials,
      concurrency: 4,
      runner: queue(key),
      hooks: [attack],
      warn: (text: string) => void warnings.push(text),
    };
    const { status, trials: found } = await studyOf(name, options).run();
    const { trials: expected } = await studyOf(name, { trials, concurrency: 4, runner: local() }).run();
    expect(status).toBe("completed");
    const facts = (all: typeof found): unknown =>
      all.map((each) => [each.status, each.params, each.result, each.reports]);
    expect(facts(found)).toEqual(facts(expected));
    expect(found.every(({ failures }) => failures === 0)).toBe(true);
    expect(warnings.some((text) => /^bullmq: dropped \d+ messages/.test(text))).toBe(true);
    expect(warnings.length, warnings.join("\n")).toBeLessThan(12);
    // They were not killed, and leave when they are asked to.
    for (const worker of workers) worker.signal("SIGTERM");
    expect(await Promise.all(workers.map(({ exit }) => exit))).toEqual([143, 143]);
    return attacker.rounds;
  }

  test("garbled writes to every channel and key, without a key: the right results", async () => {
    expect(await survive("garbled", undefined, 1)).toBeGreaterThanOrEqual(ROUNDS);
  });

  test("forged and repeated ones too, with a key: the right results", async () => {
    expect(await survive("forged", KEY, 3)).toBeGreaterThanOrEqual(ROUNDS);
  });
});
