// The controller's side of a study whose trials run elsewhere: puts attempts into a queue, talks to the workers that have
// them, and notices when one is lost.
import type { Queue, Worker } from "bullmq";
import { thisProcess } from "../../../runs/liveness.ts";
import { builtin } from "../../../platform/builtin.ts";
import { StudyError } from "../../study-errors.ts";
import type { RunnerStudy, TrialHost, TrialJob, TrialOutcome } from "../runner.ts";
import { type Attempt, Attempts, Batch, type DownMessage } from "./exactly-once.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import { ClaimKey, type Claim } from "./claim.ts";
import { codeOf } from "./trusted-code.ts";
import { checkKeeps, connect, type Connection } from "./connection.ts";
import { Dropped, Inbox, type News, Seal } from "./inbox.ts";
import { type Names, PREFIX, namesOf, repairQueue } from "./redis-keys.ts";

interface Options {
  readonly redis: string;
  readonly lockMs: number;
  readonly allowVolatile: boolean;
  readonly directory: string;
  readonly trial: string;
  readonly study: RunnerStudy;
  readonly key: string | undefined;
}

/** Jobs that Redis did not take are offered again so often, after its keys were put right. */
const MOST_REFUSALS = 5;
/** Somebody who writes to Redis may cause any number of them. */
const MOST_COMPLAINTS = 5;
/** States in which a worker can take a job. */
const CAN_BE_TAKEN: readonly string[] = ["waiting", "active"];

/** An interruption is said again until the trial has left. */
const REPEAT_MS = 1000;
/** A Redis that is away must not keep a study that has ended. */
const LEAVE_MS = 5000;

export async function openStudyQueue(options: Options): Promise<StudyQueue> {
  const { redis, lockMs, allowVolatile, directory, trial, study, key } = options;
  const connection = await connect(redis, { owner: "bullmq", warn: (message) => study.warn(message) });
  try {
    if (!allowVolatile) await checkKeeps(connection);
    const { resolve } = builtin("bullmq", "node:path");
    const modules = [trial, ...study.hookSources.map((source) => (typeof source === "string" ? source : source.use))];
    const claim: Claim = {
      run: crypto.randomUUID().slice(0, 13),
      ...thisProcess(),
      lockMs,
      trial,
      modules,
      code: codeOf(modules, directory),
      dir: study.dir === undefined ? undefined : resolve(study.dir),
    };
    const names = namesOf(study.name);
    const ears = connection.another();
    // A worker may have something to say as soon as it sees the claim.
    await ears.subscribe(names.up);
    const seal = new Seal(key);
    const dropped = new Dropped("bullmq", (message) => study.warn(message));
    const inbox = new Inbox(seal, dropped);
    const claimKey = new ClaimKey(connection.client, names.claim, seal, inbox);
    await claimKey.take(claim, study.name);
    const queue = new StudyQueue({ connection, names, claim, claimKey, study, seal, inbox, dropped });
    ears.on("message", (_, text) => queue.hear(text));
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

interface Parts {
  readonly connection: Connection;
  readonly names: Names;
  readonly claim: Claim;
  readonly claimKey: ClaimKey;
  readonly study: RunnerStudy;
  readonly seal: Seal;
  readonly inbox: Inbox;
  readonly dropped: Dropped;
}

export class StudyQueue {
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #claim: Claim;
  readonly #claimKey: ClaimKey;
  readonly #study: RunnerStudy;
  readonly #seal: Seal;
  readonly #inbox: Inbox;
  readonly #dropped: Dropped;
  /** A job is text, so that it can be signed. */
  readonly #queue: Queue<string>;
  /** Takes no jobs: it looks for those whose worker is lost. */
  readonly #watch: Worker;
  readonly #attempts: Attempts;
  readonly #down = new Map<string, Batch<DownMessage>>();
  /** Attempts to put into the queue together. */
  #toAdd: Attempt[] = [];
  /** Attempts whose job was missing, or where no worker finds it, when last looked for. */
  #missing = new Set<Attempt>();
  /** How often in a row Redis did not take jobs. */
  #refusals = 0;
  readonly #complaints = new Set<string>();
  #tick: ReturnType<typeof setInterval> | undefined;
  /** Undefined while it does not look. */
  #looking: Promise<void> | undefined;
  #isLost = false;

  constructor({ connection, names, claim, claimKey, study, seal, inbox, dropped }: Parts) {
    this.#connection = connection;
    this.#names = names;
    this.#claim = claim;
    this.#claimKey = claimKey;
    this.#study = study;
    this.#seal = seal;
    this.#inbox = inbox;
    this.#dropped = dropped;
    this.#attempts = new Attempts(claim.run, (worker, message) => this.#tell(worker, message));
    const { Queue: QueueClass, Worker: WorkerClass } = connection.bullmq;
    const common = { connection: connection.client, prefix: PREFIX };
    // Nobody reads BullMQ's events.
    this.#queue = new QueueClass(names.queue, { ...common, streams: { events: { maxLen: 10 } } });
    const timing = { lockDuration: claim.lockMs, stalledInterval: claim.lockMs / 2, maxStalledCount: 1e9 };
    this.#watch = new WorkerClass(names.queue, undefined, { ...common, autorun: false, ...timing });
    this.#queue.on("error", this.#complain);
    this.#watch.on("error", this.#complain);
    this.#watch.on("stalled", (jobId: string) => this.#stalled(jobId));
  }

  /** Clears away what an earlier controller has left, once nothing of it runs any more. */
  async begin(): Promise<void> {
    const { client } = this.#connection;
    const { lockMs } = this.#claim;
    this.#tick = setInterval(() => {
      this.#looking ??= this.#look()
        .catch(this.#complain)
        .finally(() => (this.#looking = undefined));
    }, lockMs / 3);
    await this.#repair();
    await this.#watch.startStalledCheckTimer();
    await this.#say("come");
    const begun = performance.now();
    let told = false;
    for (;;) {
      await this.#queue.drain();
      if ((await this.#queue.getActiveCount()) === 0) break;
      if (performance.now() - begun > 4 * lockMs) break;
      if (!told) this.#study.warn("bullmq: waiting for trials of the study's last controller to end.");
      told = true;
      await new Promise((resolve) => void setTimeout(resolve, 100));
    }
    await this.#queue.obliterate({ force: true });
    // What Redis was told just before it went away, it may have forgotten.
    client.on("ready", () => this.#addAgain());
  }

  run(job: TrialJob, host: TrialHost): Promise<TrialOutcome> {
    const { resolve } = builtin("bullmq", "node:path");
    const runDir = job.runDir === undefined ? undefined : resolve(job.runDir);
    return this.#attempts.begin({ ...job, runDir }, host, (attempt) => {
      this.#add(attempt);
      if (host.signal.aborted) this.#interrupt(attempt, host.signal);
      else host.signal.addEventListener("abort", () => this.#interrupt(attempt, host.signal), { once: true });
    });
  }

  /** Lets go of everything, and tells workers to do so. */
  async close(): Promise<void> {
    clearInterval(this.#tick);
    for (const attempt of this.#attempts.all) this.#attempts.withdraw(attempt);
    let timer: ReturnType<typeof setTimeout>;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, LEAVE_MS)));
    await Promise.race([this.#leave().catch(() => undefined), late]);
    clearTimeout(timer!);
    await this.#watch.close(true);
    await this.#queue.close();
    this.#connection.close();
    this.#dropped.close();
  }

  async #leave(): Promise<void> {
    // It would take the claim again, and add jobs.
    await this.#looking;
    // Another controller may have taken the study: what is there is its own then.
    if (this.#isLost) return;
    await this.#claimKey.release(this.#claim);
    await this.#say("over");
    await this.#repair();
    await this.#queue.drain();
    while ((await this.#queue.getActiveCount()) > 0) await new Promise((resolve) => void setTimeout(resolve, 20));
    await this.#queue.obliterate({ force: true });
  }

  async #say(what: News["what"]): Promise<void> {
    const { news } = this.#names;
    const text = stringifyExact({ what, run: this.#claim.run } satisfies News);
    await this.#connection.client.publish(news, this.#seal.sign(news, text));
  }

  hear(text: string): void {
    for (const message of this.#inbox.up(this.#names.up, text)) {
      if (message.run !== this.#claim.run) continue;
      if ("refused" in message) this.#study.warn(`bullmq: ${message.refused}`);
      else this.#attempts.hear(message);
    }
  }

  #tell(worker: string, message: DownMessage): void {
    let batch = this.#down.get(worker);
    if (!batch) {
      const channel = this.#names.down(worker);
      batch = new Batch((text) => {
        // Ids of workers come from Redis: none is kept for longer than it is needed.
        this.#down.delete(worker);
        this.#connection.publish(channel, this.#seal.sign(channel, text));
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
        data: this.#seal.sign(jobId, stringifyExact(job)),
        opts: { jobId, removeOnComplete: true, removeOnFail: true },
      }));
      this.#queue.addBulk(jobs).then(
        () => (this.#refusals = 0),
        (error: Error) => void this.#refused(error).catch(this.#complain),
      );
    });
  }

  /** Somebody may have changed the queue's keys; what is not in it is added when it is next looked at. */
  async #refused(error: Error): Promise<void> {
    if (this.#refusals++ < MOST_REFUSALS && (await this.#repair()) > 0) return;
    const why = `bullmq: Redis at ${this.#connection.url} does not take trials: ${error.message}`;
    this.#study.fail(new StudyError(why, { cause: error }));
  }

  async #repair(): Promise<number> {
    const repaired = await repairQueue(this.#connection.client, this.#names.queueKeys);
    for (let i = 0; i < repaired; i++) this.#dropped.add("changed");
    return repaired;
  }

  /** A job that is there already is not added twice. */
  #addAgain(): void {
    for (const attempt of this.#attempts.all) if (attempt.worker === undefined) this.#add(attempt);
  }

  #interrupt(attempt: Attempt, signal: AbortSignal): void {
    if (!this.#attempts.all.includes(attempt)) return;
    if (attempt.worker === undefined || this.#isLost) {
      this.#attempts.withdraw(attempt);
      // One that a worker has just taken stays: that worker hears that it is gone.
      void this.#queue.remove(attempt.jobId).catch(() => undefined);
      return;
    }
    this.#tell(attempt.worker, { kind: "interrupt", ...attempt.key, reason: String(signal.reason) });
    setTimeout(() => this.#interrupt(attempt, signal), REPEAT_MS).unref();
  }

  #stalled(jobId: string): void {
    const attempt = this.#attempts.all.find((each) => each.jobId === jobId);
    // One that was never begun waits in the queue again.
    if (attempt && attempt.worker === undefined) return;
    void this.#queue.remove(jobId).catch(() => undefined);
    if (attempt) this.#attempts.lose(attempt, `The worker of the trial is gone: ${attempt.where}.`);
  }

  /** Keeps the study ours, and looks whether Redis still has the jobs of all attempts. */
  async #look(): Promise<void> {
    if (!(await this.#claimKey.renew(this.#claim))) return this.#overtaken();
    await this.#repair();
    const attempts = this.#attempts.all;
    const there = await Promise.all(attempts.map((attempt) => this.#isThere(attempt)));
    const missing = new Set(attempts.filter((_, i) => !there[i]));
    // Only those that were missing before: one may be on its way.
    for (const attempt of missing) if (this.#missing.has(attempt)) await this.#replace(attempt);
    this.#missing = missing;
  }

  /** One that runs must be known to Redis, one that waits must be where workers look for it. */
  async #isThere({ jobId, worker }: Attempt): Promise<boolean> {
    if (worker !== undefined) return (await this.#connection.client.exists(this.#names.job(jobId))) === 1;
    return CAN_BE_TAKEN.includes(await this.#queue.getJobState(jobId));
  }

  async #replace(attempt: Attempt): Promise<void> {
    if (attempt.worker !== undefined)
      return this.#attempts.lose(attempt, `Redis has forgotten the trial that ${attempt.where} was at.`);
    await this.#connection.client.del(this.#names.job(attempt.jobId));
    this.#dropped.add("changed");
    if (this.#attempts.all.includes(attempt)) this.#add(attempt);
  }

  /** Once for each thing that Redis refuses; when it is away, the connection says so. */
  readonly #complain = ({ name, message }: Error): void => {
    if (name !== "ReplyError" || this.#complaints.has(message) || this.#complaints.size >= MOST_COMPLAINTS) return;
    this.#complaints.add(message);
    this.#study.warn(`bullmq: Redis at ${this.#connection.url}: ${message}`);
  };

  #overtaken(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    clearInterval(this.#tick);
    const seconds = this.#claim.lockMs / 1000;
    this.#study.fail(
      new StudyError(
        `bullmq: another controller has taken the study \`${this.#study.name}\`, since this one was not heard of for ${seconds} s. Start it again when the other one has ended.`,
      ),
    );
  }
}
