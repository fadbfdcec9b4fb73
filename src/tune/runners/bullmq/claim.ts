// The claim of a study: a key in Redis that its controller keeps alive, so that a study has only one controller, and
// workers know for which one they work.
import type { Redis } from "ioredis";
import { stringifyExact } from "../../../runs/exact-json.ts";
import { isAlive, type ProcessMark } from "../../../runs/liveness.ts";
import { StudyError } from "../../study-errors.ts";
import type { Inbox, Signer } from "./inbox.ts";
import type { Code } from "./code-digest.ts";

/** The process is the controller's. */
export interface Claim extends ProcessMark {
  /** Identifies this controller: messages for another one are ignored. */
  readonly run: string;
  readonly lockMs: number;
  /** The trial's module and export. */
  readonly trial: string;
  /** The modules whose code must be the same everywhere: the trial's, and those of hooks named by module. */
  readonly modules: readonly string[];
  readonly code: Code;
  /** The study's directory, absolute. */
  readonly dir: string | undefined;
}

const LOOK_EVERY_MS = 200;
/** After this many attempts to overwrite an invalid claim, the next check of the controller retries. */
const MAX_RENEWALS = 20;

/** Takes the key when it is free or its value is `ARGV[3]`, or renews it when it is ours. Only a string is a claim. */
const TAKE = `local kind = redis.call("type", KEYS[1])["ok"]
if kind ~= "string" then redis.call("del", KEYS[1]) end
local held = redis.call("get", KEYS[1])
if held and held ~= ARGV[1] and held ~= ARGV[3] then return 0 end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`;
const RELEASE = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0`;

export class ClaimKey {
  readonly #client: Redis;
  readonly #key: string;
  readonly #signer: Signer;
  readonly #inbox: Inbox;

  constructor(client: Redis, key: string, signer: Signer, inbox: Inbox) {
    this.#client = client;
    this.#key = key;
    this.#signer = signer;
    this.#inbox = inbox;
  }

  /** Takes the study. Waits for a holder that may have died; throws when the holder turns out to be alive. */
  async take(claim: Claim, study: string): Promise<void> {
    let least = Infinity;
    for (;;) {
      const text = await this.#text();
      const holder = text === undefined ? undefined : this.#inbox.claim(this.#key, text);
      // A text that is not a claim holds nothing.
      const isFree = text !== undefined && (!holder || !isAlive(holder));
      if (await this.#set(claim, isFree ? text : "")) return;
      const left = await this.#client.pttl(this.#key);
      // A live holder has renewed it.
      if (holder && left > least) {
        throw new StudyError(
          `bullmq: another controller is at work on the study \`${study}\` (process ${holder.pid} on ${holder.host}). A study has one: wait for it or stop it, or give this study another \`name\`.`,
        );
      }
      least = Math.min(least, left);
      await new Promise((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /**
   * Returns whether the study is still ours: false only when another controller holds a valid claim. Takes the key again
   * where Redis has lost it, or someone has overwritten it, who may do so again between the reading and the taking.
   */
  async renew(claim: Claim): Promise<boolean> {
    let replaced = "";
    for (let i = 0; i < MAX_RENEWALS; i++) {
      if (await this.#set(claim, replaced)) return true;
      const text = await this.#text();
      if (text !== undefined && this.#inbox.claim(this.#key, text)) return false;
      replaced = text ?? "";
    }
    return true;
  }

  async release(claim: Claim): Promise<void> {
    await this.#client.eval(RELEASE, 1, this.#key, this.#textOf(claim));
  }

  /** Undefined when there is no valid claim. */
  async read(): Promise<Claim | undefined> {
    const text = await this.#text();
    return text === undefined ? undefined : this.#inbox.claim(this.#key, text);
  }

  async #set(claim: Claim, replaced: string): Promise<boolean> {
    return (await this.#client.eval(TAKE, 1, this.#key, this.#textOf(claim), claim.lockMs, replaced)) === 1;
  }

  #textOf(claim: Claim): string {
    return this.#signer.sign(this.#key, stringifyExact(claim));
  }

  async #text(): Promise<string | undefined> {
    try {
      return (await this.#client.get(this.#key)) ?? undefined;
    } catch (error) {
      // The value is not a string, and so not a claim.
      if ((error as Error).message.startsWith("WRONGTYPE")) return "";
      throw error;
    }
  }
}
