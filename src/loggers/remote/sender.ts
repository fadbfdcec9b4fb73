// Empties a queue in the background: in order, one chunk at a time, with retries until the service has acknowledged it.
import type { Json } from "../../core/options.ts";
import { FLUSH_MS } from "../../net/outbox.ts";
import { pause, retryWait, SendError } from "../../net/retry.ts";
import type { Chunk, Queue } from "./memory-queue.ts";
import { ServiceError } from "./service.ts";

/** Sends chunks to a service, and knows what has arrived there. */
export interface Courier {
  /** What has arrived, to be stored with the position in the queue. Changes only when the service has answered. */
  readonly state: Json;
  /** Resolves when all of it has arrived. After an error, some or all of it may have: the next call must find out. */
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
/** A chunk is handled at once: without a logging thread it must not delay a training step noticeably. */
const MOST_BYTES = 128 << 10;
/** With more lines than this waiting, the sender does not pause between chunks. */
const BACKLOG = 500;
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

  /** Sends what is left, until a deadline; nothing is under way afterwards. */
  async finish(ms = FLUSH_MS): Promise<void> {
    this.#finishing.abort();
    const deadline = setTimeout(() => this.#end.abort(), ms);
    await this.#working;
    clearTimeout(deadline);
  }

  async #work(): Promise<void> {
    const { queue, courier, sendEvery } = this.#options;
    const { signal } = this.#end;
    // The same chunk until it has arrived: a repeated request must be identical.
    let chunk: Chunk | undefined;
    try {
      while (!signal.aborted) {
        // Read before the queue is, so that nothing added meanwhile is missed.
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
      this.#report(error);
    }
  }

  #succeeded(): void {
    this.#attempt = 0;
    this.#lines = Math.min(MOST_LINES, 2 * this.#lines);
    this.#lastSent = performance.now();
  }

  /** Waits before the next attempt; false when there is none. */
  async #failed(error: unknown, chunk: Chunk): Promise<boolean> {
    const { queue, courier, backoff } = this.#options;
    if (this.#end.signal.aborted) return false;
    if (error instanceof ServiceError && error.refused) {
      // One of many lines is bad: the chunk is halved until that line is alone and can be left out.
      if (chunk.lines.length > 1) {
        this.#lines = Math.max(1, Math.floor(chunk.lines.length / 2));
        return true;
      }
      if (chunk.lines.length === 0) return this.#giveUp(error);
      this.refused++;
      this.lastError = error.message;
      if (this.refused === 1) this.#options.warn(`${this.#options.shown} refused a record: ${error.message}`);
      await queue.acknowledge(chunk.end, courier.state);
      return true;
    }
    if (!(error instanceof SendError) || !error.retry) return this.#giveUp(error);
    if (this.#attempt === 0) this.#report(error);
    const wait = retryWait(error, this.#attempt++, backoff);
    if (!this.#finishing.signal.aborted) await this.#idle(wait);
    else await pause(Math.min(wait, LAST_WAIT), this.#end.signal);
    return true;
  }

  /** Ends early when the run does. */
  async #idle(ms: number): Promise<void> {
    if (!this.#finishing.signal.aborted) await pause(ms, this.#finishing.signal);
  }

  /** A failure that a retry cannot fix, such as a wrong key: the rest is left for the next start. */
  #giveUp(error: unknown): false {
    this.#report(error);
    return false;
  }

  /** A repeated problem is reported once. */
  #report(error: unknown): void {
    const { warn, shown, queue } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    if (reason === this.lastError) return;
    this.lastError = reason;
    const passing = error instanceof SendError && error.retry;
    const then = passing ? "It will be retried" : "No more is sent before the next start";
    const where = queue.dir === undefined ? "in memory" : `in ${queue.dir}`;
    warn(`${shown}: ${reason}. ${then}; what is logged waits ${where}.`);
  }

  async #beat(): Promise<void> {
    const { courier } = this.#options;
    if (!courier.beat || performance.now() - this.#lastSent < HEARTBEAT || this.#finishing.signal.aborted) return;
    this.#lastSent = performance.now();
    // A missed heartbeat does no harm: the next one follows.
    await courier.beat(this.#end.signal).catch(() => undefined);
  }
}
