// A bounded queue that sends in the background, one item at a time and in order. Adding an item never waits, and the end of
// the run waits only for a limited time.
import { withRetries } from "./retry.ts";

/** What became of an item: sent, pushed out by newer ones, still waiting at the end of the run, or why it failed. */
export type Outcome = "sent" | "dropped" | "unsent" | Error;

export interface OutboxOptions<T> {
  /** Sends one item. Only a SendError can be retried. Must give up when `signal` is aborted. */
  readonly send: (item: T, signal: AbortSignal) => Promise<void>;
  /** How many items may wait; one more drops the oldest. */
  readonly limit: number;
  /** Further attempts after the first. */
  readonly retries: number;
  /** Milliseconds before the second attempt; see `retryWait`. */
  readonly backoff: number;
  /** Called once for each item that was pushed. */
  readonly onSettled?: (item: T, outcome: Outcome) => void;
}

/** Milliseconds for what is left at the end of a run. Below 5 s, so that the process ends within 5 s. */
export const FLUSH_MS = 4000;

export class Outbox<T> {
  delivered = 0;
  failed = 0;
  /** Pushed out of the full queue, or not sent before the end. */
  dropped = 0;
  lastError = "";
  readonly #options: OutboxOptions<T>;
  readonly #waiting: T[] = [];
  readonly #end = new AbortController();
  #sending: T | undefined;
  #working: Promise<void> | undefined;
  #deadline: ReturnType<typeof setTimeout> | undefined;

  constructor(options: OutboxOptions<T>) {
    this.#options = options;
  }

  /** The item that is being sent. */
  get sending(): T | undefined {
    return this.#sending;
  }

  /** Whether the time for sending is over. */
  get isOver(): boolean {
    return this.#end.signal.aborted;
  }

  push(item: T): void {
    if (this.#waiting.length >= this.#options.limit) this.#settle(this.#waiting.shift()!, "dropped");
    this.#waiting.push(item);
    this.#working ??= this.#work();
  }

  /** Takes waiting items out, which then are the caller's again. */
  remove(isUnwanted: (item: T) => boolean): T[] {
    const removed = this.#waiting.filter((item) => isUnwanted(item));
    for (const item of removed) this.#waiting.splice(this.#waiting.indexOf(item), 1);
    return removed;
  }

  /** Waits until everything is sent, at most so many milliseconds. */
  async idle(ms: number): Promise<void> {
    if (this.#working === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => void (timer = setTimeout(resolve, Math.max(0, ms))));
    await Promise.race([this.#working, late]);
    clearTimeout(timer);
  }

  /** The run is ending: what is left has so many milliseconds. */
  finish(ms = FLUSH_MS): void {
    this.#deadline ??= setTimeout(() => this.#end.abort(), ms);
  }

  /** Aborts what is under way at once. */
  abort(): void {
    this.#end.abort();
  }

  /** Waits until the queue is empty or the deadline has passed; nothing is under way afterwards. */
  async close(): Promise<void> {
    this.finish();
    await this.#working;
    clearTimeout(this.#deadline);
    this.#end.abort();
  }

  /** What went wrong, in words, or undefined. */
  get problem(): string | undefined {
    if (this.failed + this.dropped === 0) return undefined;
    const all = this.delivered + this.failed + this.dropped;
    const dropped =
      this.dropped > 0 ? `, ${this.dropped} of them dropped because the queue was full or the run over` : "";
    const last = this.lastError === "" ? "" : ` The last error: ${this.lastError}.`;
    return `${this.failed + this.dropped} of ${all} did not get through${dropped}.${last}`;
  }

  async #work(): Promise<void> {
    const { send, retries, backoff } = this.#options;
    const { signal } = this.#end;
    for (let item = this.#waiting.shift(); item !== undefined; item = this.#waiting.shift()) {
      const next = item;
      if (this.isOver) {
        this.#settle(next, "unsent");
        continue;
      }
      this.#sending = next;
      const sent = withRetries({ retries, backoff, signal }, () => send(next, signal));
      const outcome = await sent.then(
        () => "sent" as const,
        (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
      );
      this.#sending = undefined;
      this.#settle(next, outcome);
    }
    this.#working = undefined;
  }

  #settle(item: T, outcome: Outcome): void {
    if (outcome === "sent") this.delivered++;
    else if (typeof outcome === "string") this.dropped++;
    else {
      this.failed++;
      this.lastError = outcome.message;
    }
    this.#options.onSettled?.(item, outcome);
  }
}
