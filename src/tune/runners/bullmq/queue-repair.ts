// Puts BullMQ's own keys right where somebody has written to them: a key of another type, or a setting that no study makes,
// would stop the queue for good.
import type { Redis } from "ioredis";

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
