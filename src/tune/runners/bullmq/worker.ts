// A worker: waits for a study's controller, works for it until that ends, and waits for the next one.
import type { Redis } from "ioredis";
import { hostName } from "../../../runs/liveness.ts";
import { checkOptions } from "../../../core/options.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import { StudyError } from "../../study-errors.ts";
import { keyOption, redisAddress } from "../bullmq.ts";
import type { PoolOptions } from "../trial-processes.ts";
import { codeOf, otherCode, whyRefused } from "./trusted-code.ts";
import { ClaimKey, type Claim } from "./claim.ts";
import { connect, type Connection } from "./connection.ts";
import { Dropped, Inbox, Seal } from "./inbox.ts";
import type { Refusal } from "./exactly-once.ts";
import { ALL_CLAIMS, namesOf, studyOf, type Names } from "./redis-keys.ts";
import { Session } from "./worker-session.ts";

export interface WorkerOptions extends PoolOptions {
  readonly redis: string;
  readonly study: string;
  /** Where the trial's module is. */
  readonly directory: string;
  /** Signs and checks what goes through Redis; the study must have the same. */
  readonly key?: string | undefined;
  /** Exports that trials and hooks may be, `./trial.ts#train`. Default: any of the project's files. */
  readonly allow?: readonly string[] | undefined;
  /** Ends it: trials leave in good order, and go on elsewhere. */
  readonly signal: AbortSignal;
  warn(message: string): void;
  /** What it is at, for a person. */
  say(message: string): void;
}

const LOOK_EVERY_MS = 500;

/** Works until the signal comes. Rejects when it must not work for the study, and says why. */
export async function work(options: WorkerOptions): Promise<void> {
  const { redis, key } = options;
  checkOptions("worker", { redis, ...(key !== undefined && { key }) }, { redis: redisAddress, key: keyOption });
  const connection = await connect(options.redis, { owner: "worker", warn: (message) => options.warn(message) });
  try {
    await new StudyWorker(connection, options).run();
  } finally {
    connection.close();
  }
}

class StudyWorker {
  readonly #connection: Connection;
  readonly #options: WorkerOptions;
  readonly #names: Names;
  readonly #ears: Redis;
  readonly #seal: Seal;
  readonly #dropped: Dropped;
  readonly #inbox: Inbox;
  readonly #claim: ClaimKey;
  #session: Session | undefined;
  /** When the session's claim was last seen. */
  #seenAt = 0;
  #wake: (() => void) | undefined;
  /** The last controller that has said that it is done. */
  #over = "";
  /** The last controller that this worker must not work for. */
  #refused = "";
  #hasRefused = false;

  constructor(connection: Connection, options: WorkerOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#names = namesOf(options.study);
    this.#ears = connection.another();
    this.#seal = new Seal(options.key);
    this.#dropped = new Dropped("worker", (message) => options.warn(message));
    this.#inbox = new Inbox(this.#seal, this.#dropped);
    this.#claim = new ClaimKey(connection.client, this.#names.claim, this.#seal, this.#inbox);
  }

  async run(): Promise<void> {
    const { signal, study, say } = this.#options;
    await this.#ears.subscribe(this.#names.news);
    this.#ears.on("message", (channel, text) => this.#hear(channel, text));
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve());
    });
    say(`Waiting for the study \`${study}\` at ${this.#connection.url}.`);
    try {
      // A Redis that is away must not keep it.
      await Promise.race([this.#sayOthers().then(() => this.#serve()), stopped]);
    } finally {
      await this.#session?.leave("the worker is stopped");
      this.#dropped.close();
    }
  }

  /** A name that is mistyped, or was left out, would be waited for in vain. */
  async #sayOthers(): Promise<void> {
    const { client } = this.#connection;
    if (await this.#claim.read()) return;
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

  /** Until it is time to look again, or there is something to see. */
  async #pause(): Promise<void> {
    let timer: ReturnType<typeof setTimeout>;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, LOOK_EVERY_MS);
    });
    clearTimeout(timer!);
  }

  #hear(channel: string, text: string): void {
    if (channel !== this.#names.news) return this.#session?.hear(text);
    const news = this.#inbox.news(channel, text);
    if (!news) return;
    if (news.what === "over") this.#over = news.run;
    this.#wake?.();
  }

  /** Whom it works for, and whom it should work for. */
  async #look(): Promise<void> {
    const claim = await this.#claim.read();
    const now = performance.now();
    if (this.#session) {
      const { run, lockMs } = this.#session.claim;
      if (claim?.run === run) this.#seenAt = now;
      const isGone = claim ? claim.run !== run : this.#over === run || now - this.#seenAt > lockMs;
      if (isGone) await this.#end();
    }
    if (!this.#session && claim && claim.run !== this.#over && claim.run !== this.#refused) await this.#begin(claim);
  }

  async #begin(claim: Claim): Promise<void> {
    const { directory, study, size, signal, say } = this.#options;
    const why = await whyRefused(claim, this.#options);
    if (why !== undefined) return this.#decline(claim, why);
    const different = otherCode(claim.code, codeOf(claim.modules, directory));
    if (different !== undefined) await this.#refuse(claim, different);
    const session = new Session(this.#connection, this.#names, claim, {
      ...this.#options,
      seal: this.#seal,
      inbox: this.#inbox,
      dropped: this.#dropped,
    });
    await this.#ears.subscribe(session.channel);
    if (signal.aborted) return session.abandon();
    this.#session = session;
    this.#seenAt = performance.now();
    session.begin();
    say(`Working for the study \`${study}\`, ${size === 1 ? "one trial" : `${size} trials`} at a time.`);
  }

  async #end(): Promise<void> {
    const session = this.#session!;
    await session.abandon();
    await this.#ears.unsubscribe(session.channel);
    this.#session = undefined;
    this.#options.say("The study's controller has gone. Waiting for the next one.");
  }

  /** Goes on waiting: whoever can write to Redis could else end it. Both sides hear of it, here once. */
  async #decline({ run }: Claim, why: string): Promise<void> {
    const { study, warn, directory } = this.#options;
    this.#refused = run;
    this.#dropped.add("refused");
    if (!this.#hasRefused)
      warn(
        `worker: does not work for the study \`${study}\`, which asks for something else than ${directory} has. ${why}`,
      );
    this.#hasRefused = true;
    await this.#sayRefused(run, `does not work for this study: ${why}`);
  }

  async #sayRefused(run: string, why: string): Promise<void> {
    const refusal: Refusal = { run, refused: `The worker on ${hostName()} (process ${process.pid}) ${why}` };
    const { up } = this.#names;
    await this.#connection.client.publish(up, this.#seal.sign(up, stringifyExact([refusal])));
  }

  /** Both sides hear of it. */
  async #refuse({ run, modules }: Claim, different: string): Promise<never> {
    const names = modules.join(", ");
    const { study } = this.#options;
    await this.#sayRefused(run, `was refused: it has other code for ${names}: ${different}.`);
    throw new StudyError(
      `worker: this is other code than that of the study \`${study}\` (${names}): ${different}. Bring both to the same version, and start the worker again.`,
    );
  }
}
