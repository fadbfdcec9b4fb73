import type { Redis } from "ioredis";

// What a study's things are called in Redis.

/** What BullMQ's keys begin with. */
export const PREFIX = "hookline";

export interface Names {
  readonly queue: string;
  /** What all keys of BullMQ's queue begin with. */
  readonly queueKeys: string;
  /** BullMQ's own key of a job. */
  job(id: string): string;
  /** Key: who controls the study. */
  readonly claim: string;
  /** Channel: from workers to the controller. */
  readonly up: string;
  /** Channel: to one worker. */
  down(worker: string): string;
  /** Channel: to all workers, when the controller comes or goes. */
  readonly news: string;
}

/** Matches the claims of all studies. */
export const ALL_CLAIMS = `${PREFIX}-study:*:claim`;

/** The study of a claim's key; undefined where the key is not one that a study makes. */
export function studyOf(claim: string): string | undefined {
  try {
    const name = decodeURIComponent(claim.split(":")[1]!);
    return encodeURIComponent(name) === claim.split(":")[1] && !/\p{Cc}/u.test(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

export function namesOf(study: string): Names {
  // BullMQ parts its keys by colons, which a study's name may have.
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

// Puts BullMQ's own keys right where somebody has written to them: a key of another type, or a setting that no study makes,
// would stop the queue for good.

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

/** Keys of features that a study does not use: limits of rates, priorities. */
const UNUSED = ["limiter", "pc"];
/** Fields that BullMQ writes for a queue as a study makes it. Others pause it or limit it. */
const META = /^(?:version|opts\.maxLenEvents)$/;

type Replies = readonly (readonly [Error | null, unknown])[];

/** @returns how many things were put right */
export async function repairQueue(client: Redis, queueKeys: string): Promise<number> {
  const names = Object.keys(TYPES);
  const look = client.pipeline();
  for (const name of names) look.type(queueKeys + name);
  look.get(`${queueKeys}id`);
  look.pttl(`${queueKeys}stalled-check`);
  look.hkeys(`${queueKeys}meta`);
  for (const name of UNUSED) look.exists(queueKeys + name);
  const replies = ((await look.exec()) ?? []) as Replies;
  const reply = (i: number): unknown => replies[i]?.[1];
  const wrong = names.filter((name, i) => !["none", TYPES[name]].includes(reply(i) as string));
  const more = names.length;
  const id = reply(more);
  if (typeof id === "string" && !/^\d{1,15}$/.test(id)) wrong.push("id");
  // It expires, or nobody would ever look for lost workers again.
  if (reply(more + 1) === -1) wrong.push("stalled-check");
  wrong.push(...UNUSED.filter((_, i) => reply(more + 3 + i) === 1));
  const meta = reply(more + 2);
  const fields = Array.isArray(meta) ? (meta as readonly string[]).filter((field) => !META.test(field)) : [];
  if (wrong.length > 0) await client.del(...wrong.map((name) => queueKeys + name));
  if (fields.length > 0) await client.hdel(`${queueKeys}meta`, ...fields);
  return wrong.length + fields.length;
}
