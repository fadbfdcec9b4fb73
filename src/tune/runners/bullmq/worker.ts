// A worker: waits for a study's controller, works for it until it is gone, and waits for the next one.
import type { Redis } from "ioredis";
import { hostName } from "../../../checkpoint/process-mark.ts";
import { checkOptions } from "../../../core/options.ts";
import { stringifyExact } from "../../../core/exact-json.ts";
import { StudyError } from "../../study-error.ts";
import { redisAddress } from "../bullmq.ts";
import type { PoolOptions } from "../child-pool.ts";
import { readClaim, type Claim } from "./claim.ts";
import { codeOf, otherCode } from "./code.ts";
import { connect, type Connection } from "./connection.ts";
import type { Refusal } from "./messages.ts";
import { ALL_CLAIMS, namesOf, studyOf, type Names } from "./names.ts";
import { Session } from "./session.ts";

export interface WorkerOptions extends PoolOptions {
  readonly redis: string;
  readonly study: string;
  /** Where the trial's module is. */
  readonly directory: string;
  /** Ends it: trials leave in good order, and go on elsewhere. */
  readonly signal: AbortSignal;
  warn(message: string): void;
  /** What it is at, for a person. */
  say(message: string): void;
}

const LOOK_EVERY_MS = 500;

/** Works until the signal comes. Rejects when it must not work for the study, and says why. */
export async function work(options: WorkerOptions): Promise<void> {
  checkOptions("worker", { redis: options.redis }, { redis: redisAddress });
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
  #session: Session | undefined;
  /** When the session's claim was last seen. */
  #seenAt = 0;
  #wake: (() => void) | undefined;
  /** The last controller that has said that it is done. */
  #over = "";

  constructor(connection: Connection, options: WorkerOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#names = namesOf(options.study);
    this.#ears = connection.another();
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
    }
  }

  /** A name that is mistyped, or was left out, would be waited for in vain. */
  async #sayOthers(): Promise<void> {
    const { client } = this.#connection;
    if (await readClaim(client, this.#names.claim)) return;
    const claims: string[] = [];
    for await (const keys of client.scanStream({ match: ALL_CLAIMS, count: 1000 })) claims.push(...(keys as string[]));
    const [first, ...more] = [...new Set(claims)].map(studyOf).toSorted();
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
    if (text.startsWith("over ")) this.#over = text.slice("over ".length);
    this.#wake?.();
  }

  /** Whom it works for, and whom it should work for. */
  async #look(): Promise<void> {
    const claim = await readClaim(this.#connection.client, this.#names.claim);
    const now = performance.now();
    if (this.#session) {
      const { run, lockMs } = this.#session.claim;
      if (claim?.run === run) this.#seenAt = now;
      const isGone = claim ? claim.run !== run : this.#over === run || now - this.#seenAt > lockMs;
      if (isGone) await this.#end();
    }
    if (!this.#session && claim && claim.run !== this.#over) await this.#begin(claim);
  }

  async #begin(claim: Claim): Promise<void> {
    const { directory, study, size, signal, say } = this.#options;
    const different = otherCode(claim.code, codeOf(claim.modules, directory));
    if (different !== undefined) await this.#refuse(claim, different);
    const session = new Session(this.#connection, this.#names, claim, this.#options);
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

  /** Both sides hear of it. */
  async #refuse({ run, modules }: Claim, different: string): Promise<never> {
    const names = modules.join(", ");
    const { study } = this.#options;
    const who = `The worker on ${hostName()} (process ${process.pid})`;
    const refusal: Refusal = { run, refused: `${who} was refused: it has other code for ${names}: ${different}.` };
    await this.#connection.client.publish(this.#names.up, stringifyExact([refusal]));
    throw new StudyError(
      `worker: this is other code than that of the study \`${study}\` (${names}): ${different}. Bring both to the same version, and start the worker again.`,
    );
  }
}
