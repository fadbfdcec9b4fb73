// The controller's side of a study whose trials run on other machines: it puts attempts into a queue, talks to the
// workers that run them, and notices when one is lost.
import type { Queue, Worker } from "bullmq";
import { builtin } from "../../../platform/builtin.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import { thisProcess } from "../../../runs/liveness.ts";
import { StudyError } from "../../study-errors.ts";
import type { RunnerStudy, TrialHost, TrialJob, TrialOutcome } from "../runner.ts";
import { ClaimKey, type Claim } from "./claim.ts";
import { checkDurable, connect, type Connection } from "./connection.ts";
import { Attempts, Batch, type Attempt, type DownMessage } from "./exactly-once.ts";
import { DroppedMessages, Inbox, Signer, type News } from "./inbox.ts";
import { keysOf, PREFIX, repairQueue, type RedisKeys } from "./redis-keys.ts";
import { codeOf } from "./code-digest.ts";

interface StudyQueueOptions {
  readonly redis: string;
  readonly lockMs: number;
  readonly allowVolatile: boolean;
  readonly directory: string;
  readonly trial: string;
  readonly study: RunnerStudy;
  readonly key: string | undefined;
}

/** How often in a row Redis may refuse jobs. After each refusal the queue's keys are repaired. */
const MAX_REFUSALS = 5;
/** An attacker who writes to Redis can cause any number of errors. */
const MAX_WARNINGS = 5;
/** States in which a worker can take a job. */
const CAN_BE_TAKEN: readonly string[] = ["waiting", "active"];
/** An interruption is repeated until the trial has ended. */
const REPEAT_MS = 1000;
/** Closing gives up after this time, in case Redis is away. */
const CLOSE_MS = 5000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

export async function openStudyQueue(options: StudyQueueOptions): Promise<StudyQueue> {
  const { redis, lockMs, allowVolatile, directory, trial, study, key } = options;
  const connection = await connect(redis, { owner: "bullmq", warn: (message) => study.warn(message) });
  try {
    if (!allowVolatile) await checkDurable(connection);
    const modules = [trial, ...study.hookSources.map((source) => (typeof source === "string" ? source : source.use))];
    const claim: Claim = {
      run: crypto.randomUUID().slice(0, 13),
      ...thisProcess(),
      lockMs,
      trial,
      modules,
      code: codeOf(modules, directory),
      dir: study.dir === undefined ? undefined : builtin("bullmq", "node:path").resolve(study.dir),
    };
    const keys = keysOf(study.name);
    const subscriber = connection.another();
    // Before the claim: a worker may send something as soon as it sees it.
    await subscriber.subscribe(keys.up);
    const signer = new Signer(key);
    const dropped = new DroppedMessages("bullmq", (message) => study.warn(message));
    const inbox = new Inbox(signer, dropped);
    const claimKey = new ClaimKey(connection.client, keys.claim, signer, inbox);
    await claimKey.take(claim, study.name);
    const queue = new StudyQueue({ connection, keys, claim, claimKey, study, signer, inbox, dropped });
    subscriber.on("message", (_, text) => queue.receive(text));
    await queue.begin().catch(async (error: unknown) => {
      await queue.close();
      throw error;
    });
    return queue;
  } catch (error) {
    connection.close();
    throw error;
  }
}

interface QueueContext {
  readonly connection: Connection;
  readonly keys: RedisKeys;
  readonly claim: Claim;
  readonly claimKey: ClaimKey;
  readonly study: RunnerStudy;
  readonly signer: Signer;
  readonly inbox: Inbox;
  readonly dropped: DroppedMessages;
}

export class StudyQueue {
  readonly #context: QueueContext;
  /** A job is text, so that it can be signed. */
  readonly #queue: Queue<string>;
  /** Takes no jobs: it looks for jobs whose worker is lost. */
  readonly #stalledWatch: Worker;
  readonly #attempts: Attempts;
  readonly #down = new Map<string, Batch<DownMessage>>();
  /** Attempts to add to the queue together. */
  #toAdd: Attempt[] = [];
  /** Attempts whose job was missing, or not where workers look for it, at the last check. */
  #missing = new Set<Attempt>();
  /** How often in a row Redis refused jobs. */
  #refusals = 0;
  readonly #warnings = new Set<string>();
  #timer: ReturnType<typeof setInterval> | undefined;
  /** The check that is running. */
  #checking: Promise<void> | undefined;
  /** Another controller has taken the study. */
  #isOvertaken = false;

  constructor(context: QueueContext) {
    this.#context = context;
    const { connection, keys, claim } = context;
    this.#attempts = new Attempts(claim.run, (worker, message) => this.#send(worker, message));
    const { Queue: QueueClass, Worker: WorkerClass } = connection.bullmq;
    const common = { connection: connection.client, prefix: PREFIX };
    // BullMQ's own events are not used.
    this.#queue = new QueueClass(keys.queue, { ...common, streams: { events: { maxLen: 10 } } });
    const timing = { lockDuration: claim.lockMs, stalledInterval: claim.lockMs / 2, maxStalledCount: 1e9 };
    this.#stalledWatch = new WorkerClass(keys.queue, undefined, { ...common, autorun: false, ...timing });
    this.#queue.on("error", this.#warnOnce);
    this.#stalledWatch.on("error", this.#warnOnce);
    this.#stalledWatch.on("stalled", (jobId: string) => this.#stalled(jobId));
  }

  /** Waits until no trial of an earlier controller runs any more, and clears the queue. */
  async begin(): Promise<void> {
    const { connection, claim, study } = this.#context;
    this.#timer = setInterval(() => {
      this.#checking ??= this.#check()
        .catch(this.#warnOnce)
        .finally(() => (this.#checking = undefined));
    }, claim.lockMs / 3);
    await this.#repair();
    await this.#stalledWatch.startStalledCheckTimer();
    await this.#announce("come");
    const begun = performance.now();
    let hasWarned = false;
    for (;;) {
      await this.#queue.drain();
      if ((await this.#queue.getActiveCount()) === 0) break;
      if (performance.now() - begun > 4 * claim.lockMs) break;
      if (!hasWarned) study.warn("bullmq: waiting for trials of the study's last controller to end.");
      hasWarned = true;
      await pause(100);
    }
    await this.#queue.obliterate({ force: true });
    // Redis may have lost what was written just before it went away. A job that is there is not added twice.
    connection.client.on("ready", () => {
      for (const attempt of this.#attempts.all) if (attempt.worker === undefined) this.#add(attempt);
    });
  }

  run(job: TrialJob, host: TrialHost): Promise<TrialOutcome> {
    const runDir = job.runDir === undefined ? undefined : builtin("bullmq", "node:path").resolve(job.runDir);
    return this.#attempts.begin({ ...job, runDir }, host, (attempt) => {
      this.#add(attempt);
      if (host.signal.aborted) this.#interrupt(attempt, host.signal);
      else host.signal.addEventListener("abort", () => this.#interrupt(attempt, host.signal), { once: true });
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const attempt of this.#attempts.all) this.#attempts.withdraw(attempt);
    let timer: ReturnType<typeof setTimeout>;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)));
    await Promise.race([this.#release().catch(() => undefined), late]);
    clearTimeout(timer!);
    await this.#stalledWatch.close(true);
    await this.#queue.close();
    this.#context.connection.close();
    this.#context.dropped.close();
  }

  /** Releases the study, tells the workers, and empties the queue. */
  async #release(): Promise<void> {
    const { claimKey, claim } = this.#context;
    // A running check would take the claim again, and add jobs.
    await this.#checking;
    // The claim and the queue may belong to another controller by now.
    if (this.#isOvertaken) return;
    await claimKey.release(claim);
    await this.#announce("over");
    await this.#repair();
    await this.#queue.drain();
    while ((await this.#queue.getActiveCount()) > 0) await pause(20);
    await this.#queue.obliterate({ force: true });
  }

  async #announce(what: News["what"]): Promise<void> {
    const { connection, claim, signer, keys } = this.#context;
    const text = stringifyExact({ what, run: claim.run } satisfies News);
    await connection.client.publish(keys.news, signer.sign(keys.news, text));
  }

  receive(text: string): void {
    const { inbox, keys, claim, study } = this.#context;
    for (const message of inbox.up(keys.up, text)) {
      if (message.run !== claim.run) continue;
      if ("refused" in message) study.warn(`bullmq: ${message.refused}`);
      else this.#attempts.receive(message);
    }
  }

  #send(worker: string, message: DownMessage): void {
    const { connection, keys, signer } = this.#context;
    let batch = this.#down.get(worker);
    if (!batch) {
      const channel = keys.down(worker);
      batch = new Batch((text) => {
        // Ids of workers come from Redis, so none is kept for longer than needed.
        this.#down.delete(worker);
        connection.publish(channel, signer.sign(channel, text));
      });
      this.#down.set(worker, batch);
    }
    batch.add(message);
  }

  #add(attempt: Attempt): void {
    if (this.#toAdd.push(attempt) > 1) return;
    setImmediate(() => {
      const all = this.#toAdd;
      this.#toAdd = [];
      const jobs = all.map(({ jobId, job }) => ({
        name: "attempt",
        data: this.#context.signer.sign(jobId, stringifyExact(job)),
        opts: { jobId, removeOnComplete: true, removeOnFail: true },
      }));
      this.#queue.addBulk(jobs).then(
        () => (this.#refusals = 0),
        (error: Error) => void this.#refused(error).catch(this.#warnOnce),
      );
    });
  }

  /** Someone may have changed the queue's keys. After a repair, the next check adds the jobs again. */
  async #refused(error: Error): Promise<void> {
    // The periodic check may have repaired the key since: then the error alone says that there was one.
    const isSpoiled = (await this.#repair()) > 0 || /WRONGTYPE|not an integer/.test(error.message);
    if (isSpoiled && this.#refusals++ < MAX_REFUSALS) return;
    const { connection, study } = this.#context;
    const why = `bullmq: Redis at ${connection.url} does not accept trials: ${error.message}`;
    study.fail(new StudyError(why, { cause: error }));
  }

  async #repair(): Promise<number> {
    const { connection, keys, dropped } = this.#context;
    const repaired = await repairQueue(connection.client, keys.queueKeys);
    for (let i = 0; i < repaired; i++) dropped.add("changed");
    return repaired;
  }

  #interrupt(attempt: Attempt, signal: AbortSignal): void {
    if (!this.#attempts.all.includes(attempt)) return;
    if (attempt.worker === undefined || this.#isOvertaken) {
      this.#attempts.withdraw(attempt);
      // A worker that has just taken the job gets `gone` as its first answer.
      void this.#queue.remove(attempt.jobId).catch(() => undefined);
      return;
    }
    this.#send(attempt.worker, { kind: "interrupt", ...attempt.key, reason: String(signal.reason) });
    setTimeout(() => this.#interrupt(attempt, signal), REPEAT_MS).unref();
  }

  #stalled(jobId: string): void {
    const attempt = this.#attempts.all.find((each) => each.jobId === jobId);
    // A job that was never begun is back in the queue.
    if (attempt && attempt.worker === undefined) return;
    void this.#queue.remove(jobId).catch(() => undefined);
    if (attempt) this.#attempts.lose(attempt, `The worker of the trial is gone: ${attempt.where}.`);
  }

  /** Renews the claim, and checks that Redis still has the jobs of all attempts. */
  async #check(): Promise<void> {
    const { claimKey, claim } = this.#context;
    if (!(await claimKey.renew(claim))) return this.#overtaken();
    await this.#repair();
    const attempts = this.#attempts.all;
    const found = await Promise.all(attempts.map((attempt) => this.#hasJob(attempt)));
    const missing = new Set(attempts.filter((_, i) => !found[i]));
    // Only those that were missing at the last check too: a job may be on its way.
    for (const attempt of missing) if (this.#missing.has(attempt)) await this.#replace(attempt);
    this.#missing = missing;
  }

  /** The job of a running attempt must exist; that of a waiting one must be where workers look for it. */
  async #hasJob({ jobId, worker }: Attempt): Promise<boolean> {
    const { connection, keys } = this.#context;
    if (worker !== undefined) return (await connection.client.exists(keys.job(jobId))) === 1;
    return CAN_BE_TAKEN.includes(await this.#queue.getJobState(jobId));
  }

  async #replace(attempt: Attempt): Promise<void> {
    if (attempt.worker !== undefined)
      return this.#attempts.lose(attempt, `Redis has lost the trial that ${attempt.where} was running.`);
    const { connection, keys, dropped } = this.#context;
    await connection.client.del(keys.job(attempt.jobId));
    dropped.add("changed");
    if (this.#attempts.all.includes(attempt)) this.#add(attempt);
  }

  /** Warns once for each error of Redis. When Redis is away, the connection warns. */
  readonly #warnOnce = ({ name, message }: Error): void => {
    if (name !== "ReplyError" || this.#warnings.has(message) || this.#warnings.size >= MAX_WARNINGS) return;
    this.#warnings.add(message);
    this.#context.study.warn(`bullmq: Redis at ${this.#context.connection.url}: ${message}`);
  };

  #overtaken(): void {
    if (this.#isOvertaken) return;
    this.#isOvertaken = true;
    clearInterval(this.#timer);
    const { claim, study } = this.#context;
    study.fail(
      new StudyError(
        `bullmq: another controller has taken the study \`${study.name}\`, because this one did not renew its claim for ${claim.lockMs / 1000} s. Start it again when the other one has ended.`,
      ),
    );
  }
}
