// The keys and channels of a study in Redis, and the repair of BullMQ's own keys.
import type { Redis } from "ioredis";

/** The prefix of BullMQ's keys. */
export const PREFIX = "hookline";

export interface RedisKeys {
  readonly queue: string;
  /** The prefix of all keys of BullMQ's queue. */
  readonly queueKeys: string;
  /** BullMQ's own key of a job. */
  job(id: string): string;
  /** Key: who controls the study. */
  readonly claim: string;
  /** Channel: from workers to the controller. */
  readonly up: string;
  /** Channel: to one worker. */
  down(worker: string): string;
  /** Channel: to all workers, when a controller comes or goes. */
  readonly news: string;
}

export function keysOf(study: string): RedisKeys {
  // BullMQ separates its keys by colons, which a study's name may contain.
  const queue = encodeURIComponent(study);
  const ours = `${PREFIX}-study:${queue}`;
  return {
    queue,
    queueKeys: `${PREFIX}:${queue}:`,
    job: (id) => `${PREFIX}:${queue}:${id}`,
    claim: `${ours}:claim`,
    up: `${ours}:up`,
    down: (worker) => `${ours}:down:${worker}`,
    news: `${ours}:news`,
  };
}

/** A pattern for the claims of all studies. */
export const ALL_CLAIMS = `${PREFIX}-study:*:claim`;

/** The study of a claim's key; undefined for keys that no study makes. */
export function studyOf(claim: string): string | undefined {
  try {
    const name = decodeURIComponent(claim.split(":")[1]!);
    return encodeURIComponent(name) === claim.split(":")[1] && !/\p{Cc}/u.test(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  active: "list",
  wait: "list",
  paused: "list",
  "waiting-children": "zset",
  delayed: "zset",
  prioritized: "zset",
  completed: "zset",
  failed: "zset",
  repeat: "zset",
  marker: "zset",
  stalled: "set",
  "stalled-check": "string",
  events: "stream",
  meta: "hash",
  id: "string",
};

/** Keys of features that a study does not use: rate limits and priorities. */
const UNUSED = ["limiter", "pc"];
/** The fields that BullMQ writes for a study's queue. Others pause or limit it. */
const META = /^(?:version|opts\.maxLenEvents)$/;

type Replies = readonly (readonly [Error | null, unknown])[];

/**
 * Deletes keys of the wrong type and settings that no study makes: written by someone else, they would stop the queue
 * for good.
 * @returns how many were deleted
 */
export async function repairQueue(client: Redis, queueKeys: string): Promise<number> {
  const names = Object.keys(TYPES);
  const look = client.pipeline();
  for (const name of names) look.type(queueKeys + name);
  look.get(`${queueKeys}id`);
  look.pttl(`${queueKeys}stalled-check`);
  look.hkeys(`${queueKeys}meta`);
  for (const name of UNUSED) look.exists(queueKeys + name);
  const replies = ((await look.exec()) ?? []) as Replies;
  const values = replies.map(([, value]) => value);
  const wrong = names.filter((name, i) => !["none", TYPES[name]].includes(values[i] as string));
  const [id, stalledTtl, meta, ...unused] = values.slice(names.length);
  if (typeof id === "string" && !/^\d{1,15}$/.test(id)) wrong.push("id");
  // Without an expiry, nobody would ever look for lost workers again.
  if (stalledTtl === -1) wrong.push("stalled-check");
  wrong.push(...UNUSED.filter((_, i) => unused[i] === 1));
  const fields = Array.isArray(meta) ? (meta as readonly string[]).filter((field) => !META.test(field)) : [];
  if (wrong.length > 0) await client.del(...wrong.map((name) => queueKeys + name));
  if (fields.length > 0) await client.hdel(`${queueKeys}meta`, ...fields);
  return wrong.length + fields.length;
}
