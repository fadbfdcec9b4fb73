// The connection to Redis: the optional packages, the first contact, a check that Redis is durable, and a warning when it
// goes away for a while.
import type { Redis, RedisOptions } from "ioredis";
import { HooklineError } from "../../../core/errors.ts";
import { optionalPackage } from "../../../platform/optional-package.ts";
import { redact, secretsOfEnvironment } from "../../../platform/redact.ts";
import { StudyError } from "../../study-errors.ts";

type RedisClass = new (url: string, options: RedisOptions) => Redis;
type BullMq = typeof import("bullmq");

/** Who connects, for messages. */
export interface Caller {
  readonly owner: string;
  warn(message: string): void;
}

const FIRST_CONTACT_MS = 5000;
const PACKAGES = ["bullmq", "ioredis"];

export class Connection {
  /** For messages. */
  readonly url: string;
  readonly bullmq: BullMq;
  readonly client: Redis;
  readonly #make: () => Redis;
  readonly #all = new Set<Redis>();

  constructor(url: string, bullmq: BullMq, client: Redis, make: () => Redis) {
    this.url = url;
    this.bullmq = bullmq;
    this.client = client;
    this.#make = make;
    this.#all.add(client);
  }

  /** Another connection, for subscriptions. */
  another(): Redis {
    const client = this.#make();
    this.#all.add(client);
    return client;
  }

  /** While Redis is away, messages are dropped: senders that need an answer repeat theirs. */
  publish(channel: string, text: string): void {
    if (this.client.status === "ready") void this.client.publish(channel, text).catch(() => undefined);
  }

  close(): void {
    for (const client of this.#all) client.disconnect();
  }
}

/** Connects, or throws. Afterwards it reconnects whenever Redis goes away, with a warning each time. */
export async function connect(url: string, { owner, warn }: Caller): Promise<Connection> {
  const bullmq = await optionalPackage<BullMq>(owner, "bullmq", PACKAGES);
  const { Redis: RedisClient } = await optionalPackage<{ Redis: RedisClass }>(owner, "ioredis", PACKAGES);
  const shown = redact(url, secretsOfEnvironment());
  let connected = false;
  let last: Error | undefined;
  const options: RedisOptions = {
    // Requests wait, however long Redis is away.
    maxRetriesPerRequest: null,
    connectTimeout: FIRST_CONTACT_MS,
    keepAlive: FIRST_CONTACT_MS,
    retryStrategy: (times) => (connected ? Math.min(50 * times, 1000) : null),
  };
  const make = (): Redis => new RedisClient(url, options).on("error", (error) => (last = error));
  const client = new RedisClient(url, { ...options, lazyConnect: true }).on("error", (error) => (last = error));
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    client.disconnect();
    const cause = last ?? error;
    const why = redact((cause as Error).message || String(cause), secretsOfEnvironment());
    throw new HooklineError(
      `${owner}: Redis at ${shown} cannot be reached: ${why}. Is it running, and is the address right?`,
      { cause },
    );
  }
  connected = true;
  let away = false;
  client.on("close", () => {
    if (away || client.status === "end") return;
    away = true;
    warn(`${owner}: Redis at ${shown} is away. Waiting for it.`);
  });
  client.on("ready", () => (away = false));
  return new Connection(shown, bullmq, client, make);
}

/** Throws if Redis may lose keys, and with them trials. */
export async function checkDurable({ client, url }: Connection): Promise<void> {
  const info = await client.info();
  const of = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "";
  const problems: string[] = [];
  if (of("aof_enabled") !== "1")
    problems.push("it has no append-only file, so that it forgets trials when it is restarted (set `appendonly yes`)");
  const policy = of("maxmemory_policy");
  if (policy !== "noeviction")
    problems.push(`it evicts keys when its memory is full (set \`maxmemory-policy noeviction\`; it is ${policy})`);
  if (problems.length === 0) return;
  throw new StudyError(
    `bullmq: Redis at ${url} may lose trials: ${problems.join("; ")}. Or accept it: bullmq({ allowVolatile: true })`,
  );
}
