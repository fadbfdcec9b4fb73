// Which process controls a study: a key in Redis that its controller keeps alive, so that there is only one, and workers
// know for which controller they work.
import type { Redis } from "ioredis";
import { isAlive, type ProcessMark } from "../../../runs/liveness.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import { StudyError } from "../../study-errors.ts";
import type { Code } from "./trusted-code.ts";
import type { Inbox, Seal } from "./inbox.ts";

/** The process is the controller's. */
export interface Claim extends ProcessMark {
  /** Of this controller alone: messages for another one are ignored. */
  readonly run: string;
  readonly lockMs: number;
  /** The trial's module and export. */
  readonly trial: string;
  /** Whose code must be the same everywhere: the trial, and hooks that are named by their module's export. */
  readonly modules: readonly string[];
  readonly code: Code;
  /** The study's directory, absolute. */
  readonly dir: string | undefined;
}

const LOOK_EVERY_MS = 200;

/** Takes the key when it is free or its value is `ARGV[3]`; keeps it alive when it is ours. Only a string is a claim. */
const TAKE = `local kind = redis.call("type", KEYS[1])["ok"]
if kind ~= "string" then redis.call("del", KEYS[1]) end
local held = redis.call("get", KEYS[1])
if held and held ~= ARGV[1] and held ~= ARGV[3] then return 0 end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`;
const RELEASE = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0`;

/** The key with a study's claim. */
export class ClaimKey {
  readonly #client: Redis;
  readonly #key: string;
  readonly #seal: Seal;
  readonly #inbox: Inbox;

  constructor(client: Redis, key: string, seal: Seal, inbox: Inbox) {
    this.#client = client;
    this.#key = key;
    this.#seal = seal;
    this.#inbox = inbox;
  }

  /** Takes the study; waits for a holder that may have died, and refuses when it turns out to be alive. */
  async take(claim: Claim, study: string): Promise<void> {
    let least = Infinity;
    for (;;) {
      const text = await this.#text();
      const holder = text === undefined ? undefined : this.#inbox.claim(this.#key, text);
      // One that is no claim holds nothing.
      const isFree = text !== undefined && (!holder || !isAlive(holder));
      if (await this.#set(claim, isFree ? text : "")) return;
      const left = await this.#client.pttl(this.#key);
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

  /** Whether it is still ours; takes it again where Redis has lost it, or somebody has written over it. */
  async renew(claim: Claim): Promise<boolean> {
    if (await this.#set(claim)) return true;
    const text = await this.#text();
    if (text !== undefined && this.#inbox.claim(this.#key, text)) return false;
    return this.#set(claim, text);
  }

  async release(claim: Claim): Promise<void> {
    await this.#client.eval(RELEASE, 1, this.#key, this.#textOf(claim));
  }

  /** Undefined when there is none, and when it is not one. */
  async read(): Promise<Claim | undefined> {
    const text = await this.#text();
    return text === undefined ? undefined : this.#inbox.claim(this.#key, text);
  }

  async #set(claim: Claim, instead = ""): Promise<boolean> {
    return (await this.#client.eval(TAKE, 1, this.#key, this.#textOf(claim), claim.lockMs, instead)) === 1;
  }

  #textOf(claim: Claim): string {
    return this.#seal.sign(this.#key, stringifyExact(claim));
  }

  async #text(): Promise<string | undefined> {
    try {
      return (await this.#client.get(this.#key)) ?? undefined;
    } catch (error) {
      // Something else than a string stands there.
      if ((error as Error).message.startsWith("WRONGTYPE")) return "";
      throw error;
    }
  }
}
