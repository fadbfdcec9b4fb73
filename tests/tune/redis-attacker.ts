// Somebody who can write to the Redis of a study: listens to everything, and writes random, garbled and forged things to
// every channel and every key. What it does next depends on its seed alone.
import { Redis } from "ioredis";
import { Rng } from "../../src/data/random.ts";

/** `garbled`: nothing that it writes is well formed. `forged`: also copies and changes of what it has heard. */
export type AttackKind = "garbled" | "forged";

const QUEUE_KEYS = ["wait", "active", "paused", "delayed", "prioritized", "stalled", "marker", "meta", "id", "events"];
const JUNK = ["", "null", "[]x", "[null]", "{}", "[1,2", '{"run":1}', "[[[[", '"text"', "\u0000\u0001", "[{}]", "0"];

export class RedisAttacker {
  readonly #client: Redis;
  readonly #ears: Redis;
  readonly #kind: AttackKind;
  readonly #rng: Rng;
  /** What it has heard, by channel. */
  readonly #heard = new Map<string, string[]>();
  readonly #study: string;
  rounds = 0;

  private constructor(url: string, study: string, kind: AttackKind, seed: number) {
    this.#client = new Redis(url);
    this.#ears = new Redis(url);
    this.#kind = kind;
    this.#study = study;
    this.#rng = new Rng(seed);
  }

  static async start(url: string, study: string, kind: AttackKind, seed: number): Promise<RedisAttacker> {
    const attacker = new RedisAttacker(url, study, kind, seed);
    attacker.#ears.on("pmessage", (_pattern: string, channel: string, text: string) => {
      const texts = attacker.#heard.get(channel) ?? [];
      attacker.#heard.set(channel, [...texts.slice(-20), text]);
    });
    await attacker.#ears.psubscribe("hookline-study:*");
    return attacker;
  }

  stop(): void {
    this.#client.disconnect();
    this.#ears.disconnect();
  }

  async attack(rounds: number): Promise<void> {
    for (let i = 0; i < rounds; i++) {
      this.rounds++;
      // Some are refused by Redis, for a type that is not that of the key.
      await this.#act().catch((error: Error) => {
        if (error.name !== "ReplyError") throw error;
      });
    }
  }

  async #act(): Promise<void> {
    const ours = `hookline-study:${this.#study}`;
    const queue = `hookline:${this.#study}:`;
    const channels = [
      `${ours}:up`,
      `${ours}:news`,
      ...[...this.#heard.keys()].filter((name) => name.includes(":down:")),
    ];
    const client = this.#client;
    const key = queue + this.#pick(QUEUE_KEYS);
    switch (this.#below(12)) {
      case 0:
      case 1:
      case 2:
        return void (await client.publish(this.#pick(channels), this.#text()));
      case 3:
        return void (await client.set(`${ours}:claim`, this.#text(), "PX", 5000));
      case 4:
        return void (await client.del(`${ours}:claim`), await client.lpush(`${ours}:claim`, this.#text()));
      case 5:
        return void (await client.set(key, this.#text()));
      case 6:
        return void (await client.lpush(`${queue}wait`, this.#text() || "x"));
      case 7:
        return void (await client.hset(`${queue}meta`, this.#pick(["paused", "max", "concurrency"]), "1"));
      case 8:
        return void (await client.del(key));
      case 9:
        return void (await client.zadd(
          queue + this.#pick(["delayed", "prioritized", "marker"]),
          1,
          this.#text() || "x",
        ));
      case 10:
        return this.#spoilJob(queue);
      default:
        return void (await client.set(queue + this.#pick(["limiter", "stalled-check", "pc"]), "1000000"));
    }
  }

  /** The data of a job, now and then its lock. */
  async #spoilJob(queue: string): Promise<void> {
    const keys = await this.#client.keys(`${queue}*-*-*`);
    if (keys.length === 0) return;
    const key = this.#pick(keys.toSorted());
    if (!key.endsWith(":lock")) await this.#client.hset(key, "data", this.#text());
    else if (this.#below(4) === 0) await this.#client.set(key, "mine", "PX", 1000);
  }

  #text(): string {
    const heard = [...this.#heard.values()].flat();
    if (heard.length === 0 || this.#below(3) === 0) return this.#junk();
    const real = this.#pick(heard);
    const at = this.#below(real.length);
    if (this.#kind === "garbled") return real.slice(0, at);
    // Once more as it was; with better results; with another character; without its signature.
    const forgeries = [
      real,
      real.replaceAll(/"loss":[^,}]+/g, '"loss":-1000'),
      real.slice(0, at) + String(this.#below(10)) + real.slice(at + 1),
      real.replace(/^[0-9a-f]{64} /, ""),
      real.replace(/^[0-9a-f]{64} /, `${"0".repeat(64)} `).replace("report", "returned"),
      real.slice(0, at),
    ];
    return this.#pick(forgeries);
  }

  #junk(): string {
    if (this.#below(2) === 0) return this.#pick(JUNK);
    return String.fromCharCode(...Array.from({ length: this.#below(40) }, () => this.#below(256)));
  }

  #below(count: number): number {
    return this.#rng.int(count);
  }

  #pick<T>(all: readonly T[]): T {
    return all[this.#below(all.length)]!;
  }
}
