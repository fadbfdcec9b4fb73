// A worker's session with one controller of a study: takes attempts from the queue and runs each in a warm process, so
// that this process is never too busy to renew its locks.
import type { Job, Worker } from "bullmq";
import { builtin } from "../../../platform/builtin.ts";
import { hostName } from "../../../runs/liveness.ts";
import { errorOf, StudyError } from "../../study-errors.ts";
import type { TrialHost, TrialJob } from "../runner.ts";
import { ProcessPool, type PoolOptions } from "../trial-processes.ts";
import type { Claim } from "./claim.ts";
import type { Connection } from "./connection.ts";
import { Batch, Conversation, keyOf, type AttemptKey, type Said, type UpMessage } from "./exactly-once.ts";
import type { DroppedMessages, Inbox, Signer } from "./inbox.ts";
import { PREFIX, type RedisKeys } from "./redis-keys.ts";
import { isClaimed } from "./trusted-code.ts";

/** An attempt that this worker runs. */
interface HeldAttempt {
  readonly conversation: Conversation;
  readonly abort: AbortController;
  /** When Redis last confirmed the lock. */
  renewedAt: number;
  /** Why it is given up, once it is. */
  lost: string | undefined;
  kill: (reason: string) => void;
}

export interface SessionOptions extends PoolOptions {
  readonly directory: string;
  readonly signer: Signer;
  readonly inbox: Inbox;
  readonly dropped: DroppedMessages;
  readonly warn: (message: string) => void;
}

/** An attacker who writes to Redis can cause any number of errors. */
const MAX_WARNINGS = 5;
/** After BullMQ's loop has failed. */
const RETRY_MS = 500;
/** The share of a lock's time after which a worker gives up a trial whose lock it could not renew: before another gets it. */
const SAFE = 0.9;

export class WorkerSession {
  readonly claim: Claim;
  readonly #connection: Connection;
  readonly #keys: RedisKeys;
  readonly #options: SessionOptions;
  readonly #pool: ProcessPool;
  readonly #worker: Worker<unknown>;
  readonly #warnings = new Set<string>();
  readonly #id = crypto.randomUUID().slice(0, 13);
  readonly #up: Batch<UpMessage>;
  readonly #held = new Map<string, HeldAttempt>();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #onReady = (): void => this.#repeat(true);
  #isLeaving = false;
  #isClosed = false;

  constructor(connection: Connection, keys: RedisKeys, claim: Claim, options: SessionOptions) {
    this.claim = claim;
    this.#connection = connection;
    this.#keys = keys;
    this.#options = options;
    this.#pool = new ProcessPool(options);
    this.#up = new Batch((text) => connection.publish(keys.up, options.signer.sign(keys.up, text)));
    this.#worker = new connection.bullmq.Worker<unknown>(keys.queue, (job) => this.#process(job), {
      connection: connection.client,
      prefix: PREFIX,
      concurrency: options.size,
      lockDuration: claim.lockMs,
      // The controller looks for lost workers.
      skipStalledCheck: true,
      runRetryDelay: RETRY_MS,
      autorun: false,
    });
    // Lost locks are handled below, and the connection warns when Redis is away.
    this.#worker.on("error", ({ name, message }) => void (name === "ReplyError" && this.#warnOnce(message)));
    this.#worker.on("locksRenewed", ({ jobIds }) => this.#renewed(jobIds));
    this.#worker.on("lockRenewalFailed", (jobIds) => jobIds.forEach((id) => this.#loseJob(id)));
    connection.client.on("ready", this.#onReady);
    this.#timer = setInterval(() => this.#check(), Math.min(500, claim.lockMs / 10));
  }

  /** The channel of messages to this worker. */
  get channel(): string {
    return this.#keys.down(this.#id);
  }

  begin(): void {
    void this.#worker.run().catch(({ message }: Error) => {
      this.#warnOnce(message);
      if (!this.#isClosed) setTimeout(() => this.begin(), RETRY_MS).unref();
    });
  }

  receive(text: string): void {
    for (const message of this.#options.inbox.down(this.channel, text))
      this.#held.get(this.#jobOf(message))?.conversation.receive(message);
  }

  /** Ends the session when the controller is gone: its attempts are of no use any more. */
  async abandon(): Promise<void> {
    for (const { conversation } of this.#held.values()) conversation.end();
    await this.#close();
  }

  /** Ends the session when this worker must stop: its trials end at their next report, and resume on other workers. */
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

  #warnOnce(message: string): void {
    if (this.#warnings.has(message) || this.#warnings.size >= MAX_WARNINGS) return;
    this.#warnings.add(message);
    this.#options.warn(`worker: ${message}`);
  }

  #jobOf(key: AttemptKey): string {
    return `${this.claim.run}-${keyOf(key)}`;
  }

  async #process({ id = "", data }: Job<unknown>): Promise<void> {
    // Left by an earlier controller; or lost and offered again while the first attempt is still ending here.
    if (!id.startsWith(`${this.claim.run}-`) || this.#held.has(id)) return;
    const job = this.#options.inbox.job(id, data);
    if (!job) return;
    const key = { trial: job.number, attempt: job.attempt };
    if (id !== this.#jobOf(key) || !isClaimed(this.claim, job)) return this.#options.dropped.add("refused");
    const conversation = new Conversation(key, (message) =>
      this.#up.add({ run: this.claim.run, worker: this.#id, ...message }),
    );
    const held: HeldAttempt = {
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

  /** Runs an attempt, and returns the last message about it. */
  async #attempt(job: TrialJob, held: HeldAttempt): Promise<Said> {
    const { conversation, abort } = held;
    const host: TrialHost = {
      signal: abort.signal,
      report: async (step, values, stash) => {
        const verdict = await conversation.say({ kind: "report", step, values, stash });
        if (!verdict) return new Promise(() => undefined);
        const mustLeave = verdict.kind === "continue" && this.#isLeaving;
        return mustLeave ? { kind: "interrupt", reason: "the worker is stopped" } : verdict;
      },
      checkpoint: async (path, stash) => void (await conversation.say({ kind: "checkpoint", path, stash })),
    };
    const stopped = `The worker of the trial was stopped: process ${process.pid} on ${hostName()}.`;
    try {
      if (this.#isLeaving) return { kind: "lost", reason: stopped };
      checkShared(job);
      const outcome = await this.#pool.run(this.claim.trial, this.#options.directory, job, host, (kill) => {
        held.kill = kill;
        if (held.lost !== undefined || conversation.isGone) kill("it is given up");
      });
      const isCutShort = outcome.interrupted && this.#isLeaving;
      return isCutShort ? { kind: "lost", reason: stopped } : { kind: "returned", outcome };
    } catch (error) {
      if (held.lost !== undefined) return { kind: "lost", reason: held.lost };
      return this.#isLeaving ? { kind: "lost", reason: stopped } : { kind: "failed", error: errorOf(error) };
    }
  }

  #renewed(jobIds: readonly string[]): void {
    for (const id of jobIds) {
      const held = this.#held.get(id);
      if (held) held.renewedAt = performance.now();
    }
  }

  #check(): void {
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

function checkShared({ runDir }: TrialJob): void {
  if (runDir === undefined || builtin("worker", "node:fs").existsSync(runDir)) return;
  throw new StudyError(
    `There is no directory ${runDir} on ${hostName()}. The study's \`dir\` must be on a disk that all machines share, at the same path.`,
  );
}
