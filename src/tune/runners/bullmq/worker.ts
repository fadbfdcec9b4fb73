// A worker: waits for a study's controller, works for it until it ends, and waits for the next one.
import type { Redis } from "ioredis";
import { checkOptions } from "../../../core/options.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import { hostName } from "../../../runs/liveness.ts";
import { StudyError } from "../../study-errors.ts";
import { keyOption, redisAddress } from "../bullmq.ts";
import type { PoolOptions } from "../trial-processes.ts";
import { ClaimKey, type Claim } from "./claim.ts";
import { connect, type Connection } from "./connection.ts";
import type { Refusal } from "./exactly-once.ts";
import { DroppedMessages, Inbox, Signer } from "./inbox.ts";
import { ALL_CLAIMS, keysOf, studyOf, type RedisKeys } from "./redis-keys.ts";
import { codeDifference, codeOf } from "./code-digest.ts";
import { whyRefused } from "./trusted-code.ts";
import { WorkerSession } from "./worker-session.ts";

export interface WorkerOptions extends PoolOptions {
  readonly redis: string;
  readonly study: string;
  /** What the trial's module is relative to. */
  readonly directory: string;
  /** Signs and checks what goes through Redis; the study must have the same. */
  readonly key?: string | undefined;
  /** Exports that trials and hooks may be, `./trial.ts#train`. Default: any of the project's files. */
  readonly allow?: readonly string[] | undefined;
  /** Ends the worker: its trials end at their next report, and resume on other workers. */
  readonly signal: AbortSignal;
  warn(message: string): void;
  /** Reports what the worker is doing. */
  say(message: string): void;
}

const LOOK_EVERY_MS = 500;

/** Works until the signal is aborted. Rejects when it must not work for the study. */
export async function work(options: WorkerOptions): Promise<void> {
  const { redis, key } = options;
  checkOptions("worker", { redis, ...(key !== undefined && { key }) }, { redis: redisAddress, key: keyOption });
  const connection = await connect(redis, { owner: "worker", warn: (message) => options.warn(message) });
  try {
    await new StudyWorker(connection, options).run();
  } finally {
    connection.close();
  }
}

class StudyWorker {
  readonly #connection: Connection;
  readonly #options: WorkerOptions;
  readonly #keys: RedisKeys;
  readonly #subscriber: Redis;
  readonly #signer: Signer;
  readonly #dropped: DroppedMessages;
  readonly #inbox: Inbox;
  readonly #claimKey: ClaimKey;
  #session: WorkerSession | undefined;
  /** When the session's claim was last seen. */
  #seenAt = 0;
  #wake: (() => void) | undefined;
  /** The last controller that announced its end. */
  #ended = "";
  /** The last controller that this worker must not work for. */
  #refused = "";
  #hasRefused = false;

  constructor(connection: Connection, options: WorkerOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#keys = keysOf(options.study);
    this.#subscriber = connection.another();
    this.#signer = new Signer(options.key);
    this.#dropped = new DroppedMessages("worker", (message) => options.warn(message));
    this.#inbox = new Inbox(this.#signer, this.#dropped);
    this.#claimKey = new ClaimKey(connection.client, this.#keys.claim, this.#signer, this.#inbox);
  }

  async run(): Promise<void> {
    const { signal, study, say } = this.#options;
    await this.#subscriber.subscribe(this.#keys.news);
    this.#subscriber.on("message", (channel, text) => this.#receive(channel, text));
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve());
    });
    say(`Waiting for the study \`${study}\` at ${this.#connection.url}.`);
    try {
      // A request to a Redis that is away must not delay the stop.
      await Promise.race([this.#sayOthers().then(() => this.#serve()), stopped]);
    } finally {
      await this.#session?.leave("the worker is stopped");
      this.#dropped.close();
    }
  }

  /** Names the other studies, in case the name was mistyped or left out. */
  async #sayOthers(): Promise<void> {
    const { client } = this.#connection;
    if (await this.#claimKey.read()) return;
    const claims: string[] = [];
    for await (const keys of client.scanStream({ match: ALL_CLAIMS, count: 1000 })) claims.push(...(keys as string[]));
    const studies = [...new Set(claims)].map(studyOf).filter((name) => name !== undefined);
    const [first, ...more] = studies.toSorted();
    if (first === undefined) return;
    const names = [first, ...more].map((name) => `\`${name}\``).join(", ");
    this.#options.say(
      `There is none of this name yet, but there ${more.length > 0 ? "are" : "is"} ${names}. If that is meant: --study ${/^[\w.-]+$/.test(first) ? first : JSON.stringify(first)}.`,
    );
  }

  async #serve(): Promise<void> {
    while (!this.#options.signal.aborted) {
      await this.#look();
      await this.#pause();
    }
  }

  /** Until it is time to look again, or a controller announces something. */
  async #pause(): Promise<void> {
    let timer: ReturnType<typeof setTimeout>;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, LOOK_EVERY_MS);
    });
    clearTimeout(timer!);
  }

  #receive(channel: string, text: string): void {
    if (channel !== this.#keys.news) return this.#session?.receive(text);
    const news = this.#inbox.news(channel, text);
    if (!news) return;
    if (news.what === "over") this.#ended = news.run;
    this.#wake?.();
  }

  /** Ends the session when its controller is gone, and begins one with the current controller. */
  async #look(): Promise<void> {
    const claim = await this.#claimKey.read();
    const now = performance.now();
    if (this.#session) {
      const { run, lockMs } = this.#session.claim;
      if (claim?.run === run) this.#seenAt = now;
      const isGone = claim ? claim.run !== run : this.#ended === run || now - this.#seenAt > lockMs;
      if (isGone) await this.#end();
    }
    if (!this.#session && claim && claim.run !== this.#ended && claim.run !== this.#refused) await this.#begin(claim);
  }

  async #begin(claim: Claim): Promise<void> {
    const { directory, study, size, signal, say } = this.#options;
    const why = await whyRefused(claim, this.#options);
    if (why !== undefined) return this.#decline(claim, why);
    const different = codeDifference(claim.code, codeOf(claim.modules, directory));
    if (different !== undefined) await this.#rejectCode(claim, different);
    const session = new WorkerSession(this.#connection, this.#keys, claim, {
      ...this.#options,
      signer: this.#signer,
      inbox: this.#inbox,
      dropped: this.#dropped,
    });
    await this.#subscriber.subscribe(session.channel);
    if (signal.aborted) return session.abandon();
    this.#session = session;
    this.#seenAt = performance.now();
    session.begin();
    say(`Working for the study \`${study}\`, ${size === 1 ? "one trial" : `${size} trials`} at a time.`);
  }

  async #end(): Promise<void> {
    const session = this.#session!;
    await session.abandon();
    await this.#subscriber.unsubscribe(session.channel);
    this.#session = undefined;
    this.#options.say("The study's controller has gone. Waiting for the next one.");
  }

  /** Keeps waiting: otherwise anyone who can write to Redis could stop the worker. Warns once here, and the study. */
  async #decline({ run }: Claim, why: string): Promise<void> {
    const { study, warn, directory } = this.#options;
    this.#refused = run;
    this.#dropped.add("refused");
    if (!this.#hasRefused)
      warn(
        `worker: does not work for the study \`${study}\`, which asks for something else than ${directory} has. ${why}`,
      );
    this.#hasRefused = true;
    await this.#sendRefusal(run, `does not work for this study: ${why}`);
  }

  /** Ends the worker, which cannot run the study's code, and tells the study. */
  async #rejectCode({ run, modules }: Claim, different: string): Promise<never> {
    const names = modules.join(", ");
    const { study } = this.#options;
    await this.#sendRefusal(run, `was refused: it has other code for ${names}: ${different}.`);
    throw new StudyError(
      `worker: this is other code than that of the study \`${study}\` (${names}): ${different}. Bring both to the same version, and start the worker again.`,
    );
  }

  async #sendRefusal(run: string, why: string): Promise<void> {
    const refusal: Refusal = { run, refused: `The worker on ${hostName()} (process ${process.pid}) ${why}` };
    const { up } = this.#keys;
    await this.#connection.client.publish(up, this.#signer.sign(up, stringifyExact([refusal])));
  }
}
