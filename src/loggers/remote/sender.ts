// Empties a queue behind the run's back: in order, one chunk at a time, again and again until the service has it.
import type { Json } from "../../core/options.ts";
import { FLUSH_MS, pause } from "../../net/outbox.ts";
import { SendError } from "../../net/post.ts";
import type { Chunk, Queue } from "./memory-queue.ts";
import { ServiceError } from "./service.ts";

/** Brings chunks to a service, and knows what has arrived there. */
export interface Courier {
  /** What has arrived, to be stored with the position in the queue. Changes only when the service has answered. */
  readonly state: Json;
  /** Resolves when all of it has arrived. After an error it may have, all or in part: the next call must find out. */
  send(chunk: Chunk, signal: AbortSignal): Promise<void>;
  /** Tells the service that the run is alive. */
  beat?(signal: AbortSignal): Promise<void>;
}

export interface SenderOptions {
  readonly queue: Queue;
  readonly courier: Courier;
  /** Milliseconds between two sendings. */
  readonly sendEvery: number;
  /** Milliseconds after a first failure; doubled each time, up to a minute. */
  readonly backoff: number;
  readonly warn: (message: string) => void;
  /** How messages call the service. */
  readonly shown: string;
}

const MOST_LINES = 1000;
/** A chunk is handled in one go: where there is no thread for it, it must not show in a step. */
const MOST_BYTES = 128 << 10;
/** With more than this behind it, the sender does not wait. */
const BACKLOG = 500;
const LONGEST_WAIT = 60_000;
/** At the end of a run there is no time for long waits. */
const LAST_WAIT = 250;
const HEARTBEAT = 30_000;

export class Sender {
  /** Refused by the service, one by one. */
  refused = 0;
  lastError = "";
  readonly #options: SenderOptions;
  readonly #end = new AbortController();
  readonly #finishing = new AbortController();
  #working: Promise<void> | undefined;
  #lines = MOST_LINES;
  #attempt = 0;
  #lastSent = performance.now();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  start(): void {
    this.#working ??= this.#work();
  }

  /** What is left has until the deadline; nothing is under way afterwards. */
  async finish(ms = FLUSH_MS): Promise<void> {
    this.#finishing.abort();
    const deadline = setTimeout(() => this.#end.abort(), ms);
    await this.#working;
    clearTimeout(deadline);
  }

  async #work(): Promise<void> {
    const { queue, courier, sendEvery } = this.#options;
    const { signal } = this.#end;
    // The same chunk until it has arrived: what is sent twice must be the same twice.
    let chunk: Chunk | undefined;
    try {
      while (!signal.aborted) {
        // Asked before the queue is: what was added since is not missed.
        const over = this.#finishing.signal.aborted;
        chunk ??= await queue.next({ lines: this.#lines, bytes: MOST_BYTES });
        if (chunk === undefined) {
          if (over) return;
          await this.#idle(sendEvery);
          await this.#beat();
          continue;
        }
        try {
          await courier.send(chunk, signal);
        } catch (error) {
          if (!(await this.#failed(error, chunk))) return;
          if (error instanceof ServiceError && error.refused) chunk = undefined;
          continue;
        }
        await queue.acknowledge(chunk.end, courier.state);
        this.#succeeded();
        chunk = undefined;
        if (queue.waiting < BACKLOG) await this.#idle(sendEvery);
      }
    } catch (error) {
      this.#say(error);
    }
  }

  #succeeded(): void {
    this.#attempt = 0;
    this.#lines = Math.min(MOST_LINES, 2 * this.#lines);
    this.#lastSent = performance.now();
  }

  /** Waits; false when there is no point in going on. */
  async #failed(error: unknown, chunk: Chunk): Promise<boolean> {
    const { queue, courier, backoff } = this.#options;
    if (this.#end.signal.aborted) return false;
    if (error instanceof ServiceError && error.refused) {
      // One of many is bad: halves until it is alone, and goes without the others.
      if (chunk.lines.length > 1) {
        this.#lines = Math.max(1, Math.floor(chunk.lines.length / 2));
        return true;
      }
      if (chunk.lines.length === 0) return this.#give(error);
      this.refused++;
      this.lastError = error.message;
      if (this.refused === 1) this.#options.warn(`${this.#options.shown} refused a record: ${error.message}`);
      await queue.acknowledge(chunk.end, courier.state);
      return true;
    }
    if (!(error instanceof SendError) || !error.retry) return this.#give(error);
    if (this.#attempt === 0) this.#say(error);
    const jittered = backoff * 2 ** Math.min(this.#attempt++, 20) * (0.5 + Math.random() / 2);
    const wait = Math.min(error.wait ?? jittered, LONGEST_WAIT);
    if (!this.#finishing.signal.aborted) await this.#idle(wait);
    else await pause(Math.min(wait, LAST_WAIT), this.#end.signal);
    return true;
  }

  /** Ends early when the run does. */
  async #idle(ms: number): Promise<void> {
    if (!this.#finishing.signal.aborted) await pause(ms, this.#finishing.signal);
  }

  /** What would fail again the same way is left for the next start: a wrong key, say. */
  #give(error: unknown): false {
    this.#say(error);
    return false;
  }

  /** The same again and again is said once. */
  #say(error: unknown): void {
    const { warn, shown, queue } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    if (reason === this.lastError) return;
    this.lastError = reason;
    const passing = error instanceof SendError && error.retry;
    const then = passing ? "It is tried again" : "No more is sent before the next start";
    const where = queue.dir === undefined ? "in memory" : `in ${queue.dir}`;
    warn(`${shown}: ${reason}. ${then}; what is logged waits ${where}.`);
  }

  async #beat(): Promise<void> {
    const { courier } = this.#options;
    if (!courier.beat || performance.now() - this.#lastSent < HEARTBEAT || this.#finishing.signal.aborted) return;
    this.#lastSent = performance.now();
    // The next one makes up for it.
    await courier.beat(this.#end.signal).catch(() => undefined);
  }
}
