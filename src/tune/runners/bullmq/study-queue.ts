// The controller's side of a study whose trials run elsewhere: puts attempts into a queue, speaks with the workers that have
// them, and notices when one is lost.
import type { Queue, Worker } from "bullmq";
import { thisProcess } from "../../../checkpoint/process-mark.ts";
import { builtin } from "../../../platform/builtin.ts";
import { StudyError } from "../../study-error.ts";
import type { RunnerStudy, TrialHost, TrialJob, TrialOutcome } from "../runner.ts";
import { Attempts, type Attempt } from "./attempts.ts";
import { releaseClaim, renewClaim, takeClaim, type Claim } from "./claim.ts";
import { codeOf } from "./code.ts";
import { checkKeeps, connect, type Connection } from "./connection.ts";
import { Batch, unpackUp, type DownMessage } from "./messages.ts";
import { namesOf, PREFIX, type Names } from "./names.ts";

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;

interface Options {
  readonly redis: string;
  readonly lockMs: number;
  readonly allowVolatile: boolean;
  readonly directory: string;
  readonly trial: string;
  readonly study: RunnerStudy;
}

/** An interruption is said again until the trial has left. */
const REPEAT_MS = 1000;
/** A Redis that is away must not keep a study that has ended. */
const LEAVE_MS = 5000;

export async function openStudyQueue(options: Options): Promise<StudyQueue> {
  const { redis, lockMs, allowVolatile, directory, trial, study } = options;
  const connection = await connect(redis, { owner: "bullmq", warn: (message) => study.warn(message) });
  try {
    if (!allowVolatile) await checkKeeps(connection);
    const { resolve } = builtin<Paths>("bullmq", "node:path");
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
    await takeClaim(connection.client, names.claim, claim, study.name);
    const queue = new StudyQueue(connection, names, claim, study);
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

export class StudyQueue {
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #claim: Claim;
  readonly #study: RunnerStudy;
  readonly #queue: Queue<TrialJob>;
  /** Takes no jobs: it looks for those whose worker is lost. */
  readonly #watch: Worker;
  readonly #attempts: Attempts;
  readonly #down = new Map<string, Batch<DownMessage>>();
  /** Attempts to put into the queue together. */
  #toAdd: Attempt[] = [];
  /** Attempts whose job was missing when last looked for. */
  #missing = new Set<Attempt>();
  readonly #complaints = new Set<string>();
  #tick: ReturnType<typeof setInterval> | undefined;
  #isLost = false;

  constructor(connection: Connection, names: Names, claim: Claim, study: RunnerStudy) {
    this.#connection = connection;
    this.#names = names;
    this.#claim = claim;
    this.#study = study;
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
    this.#tick = setInterval(() => void this.#look().catch(this.#complain), lockMs / 3);
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
    const { resolve } = builtin<Paths>("bullmq", "node:path");
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
  }

  async #leave(): Promise<void> {
    // Another controller may have taken the study: what is there is its own then.
    if (this.#isLost) return;
    await releaseClaim(this.#connection.client, this.#names.claim, this.#claim);
    await this.#say("over");
    await this.#queue.drain();
    while ((await this.#queue.getActiveCount()) > 0) await new Promise((resolve) => void setTimeout(resolve, 20));
    await this.#queue.obliterate({ force: true });
  }

  async #say(what: "come" | "over"): Promise<void> {
    await this.#connection.client.publish(this.#names.news, `${what} ${this.#claim.run}`);
  }

  hear(text: string): void {
    for (const message of unpackUp(text)) {
      if (message.run !== this.#claim.run) continue;
      if ("refused" in message) this.#study.warn(`bullmq: ${message.refused}`);
      else this.#attempts.hear(message);
    }
  }

  #tell(worker: string, message: DownMessage): void {
    let batch = this.#down.get(worker);
    if (!batch) {
      const channel = this.#names.down(worker);
      batch = new Batch((text) => this.#connection.publish(channel, text));
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
        data: job,
        opts: { jobId, removeOnComplete: true, removeOnFail: true },
      }));
      this.#queue.addBulk(jobs).catch((error: Error) => {
        const why = `bullmq: Redis at ${this.#connection.url} does not take trials: ${error.message}`;
        this.#study.fail(new StudyError(why, { cause: error }));
      });
    });
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

  /** Keeps the study ours, and looks whether Redis still has what the workers are at. */
  async #look(): Promise<void> {
    const { client } = this.#connection;
    if (!(await renewClaim(client, this.#names.claim, this.#claim))) return this.#overtaken();
    const taken = this.#attempts.all.filter(({ worker }) => worker !== undefined);
    const there = await Promise.all(taken.map(({ jobId }) => client.exists(this.#names.job(jobId))));
    const missing = new Set(taken.filter((_, i) => there[i] === 0));
    for (const attempt of missing)
      if (this.#missing.has(attempt))
        this.#attempts.lose(attempt, `Redis has forgotten the trial that ${attempt.where} was at.`);
    this.#missing = missing;
  }

  /** Once for each thing that Redis refuses; when it is away, the connection says so. */
  readonly #complain = ({ name, message }: Error): void => {
    if (name !== "ReplyError" || this.#complaints.has(message)) return;
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
