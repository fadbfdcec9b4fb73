// Who controls a study: a key in Redis that is kept alive, so that there is one controller, and workers know whom they serve.
import type { Redis } from "ioredis";
import { isAlive, type ProcessMark } from "../../../checkpoint/process-mark.ts";
import { parseExact, stringifyExact } from "../../../core/exact-json.ts";
import { StudyError } from "../../study-error.ts";
import type { Code } from "./code.ts";

/** The process is the controller's. */
export interface Claim extends ProcessMark {
  /** Of this controller alone: what is meant for another one is not heeded. */
  readonly run: string;
  readonly lockMs: number;
  /** The trial's module and export. */
  readonly trial: string;
  /** What must be the same code with all: the trial, and hooks that are named by their module's export. */
  readonly modules: readonly string[];
  readonly code: Code;
  /** The study's directory, absolute. */
  readonly dir: string | undefined;
}

const LOOK_EVERY_MS = 200;

/** Takes it when it is free or the holder is `ARGV[3]`; keeps it alive when it is ours. */
const TAKE = `local held = redis.call("get", KEYS[1])
if held and held ~= ARGV[1] and held ~= ARGV[3] then return 0 end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`;
const LET_GO = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0`;

/** Takes the study; waits for a holder that may have died, and refuses when it turns out to be alive. */
export async function takeClaim(client: Redis, key: string, claim: Claim, study: string): Promise<void> {
  let least = Infinity;
  for (;;) {
    const text = await client.get(key);
    const holder = text === null ? undefined : (parseExact(text) as Claim);
    const dead = holder && !isAlive(holder) ? text! : "";
    if (await renewClaim(client, key, claim, dead)) return;
    const left = await client.pttl(key);
    // A holder that lives has prolonged it.
    if (holder && left > least) {
      throw new StudyError(
        `bullmq: another controller is at work on the study \`${study}\` (process ${holder.pid} on ${holder.host}). A study has one: wait for it or stop it, or give this study another \`name\`.`,
      );
    }
    least = Math.min(least, left);
    await new Promise((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Whether it is still ours; takes it again where Redis has forgotten it. */
export async function renewClaim(client: Redis, key: string, claim: Claim, instead = ""): Promise<boolean> {
  return (await client.eval(TAKE, 1, key, stringifyExact(claim), claim.lockMs, instead)) === 1;
}

export async function releaseClaim(client: Redis, key: string, claim: Claim): Promise<void> {
  await client.eval(LET_GO, 1, key, stringifyExact(claim));
}

export async function readClaim(client: Redis, key: string): Promise<Claim | undefined> {
  const text = await client.get(key);
  return text === null ? undefined : (parseExact(text) as Claim);
}
