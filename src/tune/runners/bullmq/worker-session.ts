// A worker's session with one controller of a study: takes its attempts from the queue and runs each in a warm process, so
// that this one always has time to renew its locks.
import type { Job, Worker } from "bullmq";
import { hostName } from "../../../runs/liveness.ts";
import { builtin } from "../../../platform/builtin.ts";
import { StudyError, errorOf } from "../../study-errors.ts";
import { ChildPool, type PoolOptions } from "../trial-processes.ts";
import type { TrialHost, TrialJob, TrialOutcome } from "../runner.ts";
import { isClaimed } from "./trusted-code.ts";
import type { Claim } from "./claim.ts";
import type { Connection } from "./connection.ts";
import { type AttemptKey, Batch, Conversation, type Said, type UpMessage, keyOf } from "./exactly-once.ts";
import type { Dropped, Inbox, Seal } from "./inbox.ts";
import { PREFIX, type Names } from "./redis-keys.ts";

/** An attempt that this worker has. */
interface Held {
  readonly conversation: Conversation;
  readonly abort: AbortController;
  /** When Redis last said that it is ours. */
  renewedAt: number;
  /** Why it is given up, once it is. */
  lost: string | undefined;
  kill: (reason: string) => void;
}

export interface SessionOptions extends PoolOptions {
  readonly directory: string;
  readonly seal: Seal;
  readonly inbox: Inbox;
  readonly dropped: Dropped;
  readonly warn: (message: string) => void;
}

/** Somebody who writes to Redis may cause any number of them. */
const MOST_COMPLAINTS = 5;
/** When BullMQ's loop has failed. */
const RETRY_MS = 500;
/** Of the lock's time: a worker that has not renewed it by then is done with the trial before another can have it. */
const SAFE = 0.9;

export class Session {
  readonly claim: Claim;
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #directory: string;
  readonly #warn: (message: string) => void;
  readonly #inbox: Inbox;
  readonly #dropped: Dropped;
  readonly #pool: ChildPool;
  readonly #worker: Worker<unknown>;
  readonly #complaints = new Set<string>();
  readonly #id = crypto.randomUUID().slice(0, 13);
  readonly #up: Batch<UpMessage>;
  readonly #held = new Map<string, Held>();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #onReady = (): void => this.#repeat(true);
  #isLeaving = false;
  #isClosed = false;

  constructor(connection: Connection, names: Names, claim: Claim, options: SessionOptions) {
    this.claim = claim;
    this.#connection = connection;
    this.#names = names;
    this.#directory = options.directory;
    this.#warn = options.warn;
    this.#inbox = options.inbox;
    this.#dropped = options.dropped;
    this.#pool = new ChildPool(options);
    this.#up = new Batch((text) => connection.publish(names.up, options.seal.sign(names.up, text)));
    this.#worker = new connection.bullmq.Worker<unknown>(names.queue, (job) => this.#process(job), {
      connection: connection.client,
      prefix: PREFIX,
      concurrency: options.size,
      lockDuration: claim.lockMs,
      // The controller looks for lost ones.
      skipStalledCheck: true,
      runRetryDelay: 500,
      autorun: false,
    });
    // Locks that are gone are dealt with below, and the connection says when Redis is away.
    this.#worker.on("error", ({ name, message }) => void (name === "ReplyError" && this.#complain(message)));
    this.#worker.on("locksRenewed", ({ jobIds }) => this.#renewed(jobIds));
    this.#worker.on("lockRenewalFailed", (jobIds) => jobIds.forEach((id) => this.#loseJob(id)));
    connection.client.on("ready", this.#onReady);
    this.#timer = setInterval(() => this.#look(), Math.min(500, claim.lockMs / 10));
  }

  /** The channel on which it is spoken to. */
  get channel(): string {
    return this.#names.down(this.#id);
  }

  begin(): void {
    void this.#worker.run().catch(({ message }: Error) => {
      this.#complain(message);
      if (!this.#isClosed) setTimeout(() => this.begin(), RETRY_MS).unref();
    });
  }

  hear(text: string): void {
    for (const message of this.#inbox.down(this.channel, text))
      this.#held.get(this.#jobOf(message))?.conversation.hear(message);
  }

  /** Once for each thing that Redis refuses. */
  #complain(message: string): void {
    if (this.#complaints.has(message) || this.#complaints.size >= MOST_COMPLAINTS) return;
    this.#complaints.add(message);
    this.#warn(`worker: ${message}`);
  }

  /** The controller is gone: nobody wants what is at hand. */
  async abandon(): Promise<void> {
    for (const { conversation } of this.#held.values()) conversation.end();
    await this.#close();
  }

  /** This worker is to go: trials leave in good order, and go on elsewhere. */
  async leave(reason: string): Promise<void> {
    this.#isLeaving = true;
    for (const { abort } of this.#held.values()) abort.abort(reason);
    await this.#close();
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker.close();
    clearInterval(this.#timer);
    this.#connection.client.off("ready", this.#onReady);
    await this.#pool.close("the worker is done with the study");
  }

  #jobOf(key: AttemptKey): string {
    return `${this.claim.run}-${keyOf(key)}`;
  }

  async #process({ id = "", data }: Job<unknown>): Promise<void> {
    // Left behind by an earlier controller; or it was lost and comes again, while the first is about to end.
    if (!id.startsWith(`${this.claim.run}-`) || this.#held.has(id)) return;
    const job = this.#inbox.job(id, data);
    if (!job) return;
    const key = { trial: job.number, attempt: job.attempt };
    if (id !== this.#jobOf(key) || !isClaimed(this.claim, job)) return this.#dropped.add("refused");
    const send = (message: Omit<UpMessage, "run" | "worker">): void =>
      this.#up.add({ run: this.claim.run, worker: this.#id, ...message });
    const conversation = new Conversation(key, send);
    const held: Held = {
      conversation,
      abort: new AbortController(),
      renewedAt: performance.now(),
      lost: undefined,
      kill: () => undefined,
    };
    conversation.onInterrupt = (reason) => held.abort.abort(reason);
    conversation.onGone = () => held.kill("the study has given it up");
    this.#held.set(id, held);
    try {
      if (await conversation.say({ kind: "take", where: `process ${process.pid} on ${hostName()}` }))
        await conversation.say(await this.#attempt(job, held));
    } finally {
      this.#held.delete(id);
    }
  }

  /** What came of it. */
  async #attempt(job: TrialJob, held: Held): Promise<Said> {
    const { conversation, abort } = held;
    const host: TrialHost = {
      signal: abort.signal,
      report: async (step, values, stash) => {
        const verdict = await conversation.say({ kind: "report", step, values, stash });
        if (!verdict) return new Promise(() => undefined);
        const goes = verdict.kind === "continue" && this.#isLeaving;
        return goes ? { kind: "interrupt", reason: "the worker is stopped" } : verdict;
      },
      checkpoint: async (path, stash) => void (await conversation.say({ kind: "checkpoint", path, stash })),
    };
    const stopped = `The worker of the trial was stopped: process ${process.pid} on ${hostName()}.`;
    try {
      if (this.#isLeaving) return { kind: "lost", reason: stopped };
      this.#checkShared(job);
      const outcome: TrialOutcome = await this.#pool.run(this.claim.trial, this.#directory, job, host, (kill) => {
        held.kill = kill;
        if (held.lost !== undefined || conversation.isGone) kill("it is given up");
      });
      const isCut = outcome.interrupted && this.#isLeaving;
      return isCut ? { kind: "lost", reason: stopped } : { kind: "returned", outcome };
    } catch (error) {
      if (held.lost !== undefined) return { kind: "lost", reason: held.lost };
      return this.#isLeaving ? { kind: "lost", reason: stopped } : { kind: "failed", error: errorOf(error) };
    }
  }

  #checkShared({ runDir }: TrialJob): void {
    if (runDir === undefined || builtin("worker", "node:fs").existsSync(runDir)) return;
    throw new StudyError(
      `There is no directory ${runDir} on ${hostName()}. The study's \`dir\` must be on a disk that all machines share, at the same path.`,
    );
  }

  #renewed(jobIds: readonly string[]): void {
    for (const id of jobIds) {
      const held = this.#held.get(id);
      if (held) held.renewedAt = performance.now();
    }
  }

  #look(): void {
    const late = performance.now() - this.claim.lockMs * SAFE;
    for (const [id, { renewedAt }] of this.#held) if (renewedAt < late) this.#loseJob(id);
    this.#repeat(false);
  }

  #loseJob(id: string): void {
    const held = this.#held.get(id);
    if (!held || held.lost !== undefined) return;
    held.lost = `The worker of the trial had lost touch with Redis: process ${process.pid} on ${hostName()}.`;
    held.kill(held.lost);
  }

  #repeat(all: boolean): void {
    for (const { conversation } of this.#held.values()) conversation.repeat(all);
  }
}
