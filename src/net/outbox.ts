// A bounded queue that sends behind the run's back: whoever puts something in never waits, and the end is bounded too.
import { withRetries } from "./retry.ts";

export interface OutboxOptions<T> {
  /** Sends one; a SendError says whether trying again makes sense. Must give up when `signal` is aborted. */
  readonly send: (item: T, signal: AbortSignal) => Promise<void>;
  /** How many may wait; the oldest goes when one more comes. */
  readonly limit: number;
  /** Further attempts after the first. */
  readonly retries: number;
  /** Milliseconds before the second attempt; doubled each time. */
  readonly backoff: number;
}

/** The end of a run: what has not gone out by then is lost. Below 5 s, so that the process is gone within 5 s. */
export const FLUSH_MS = 4000;

export class Outbox<T> {
  delivered = 0;
  failed = 0;
  /** Pushed out of the full queue, or still there at the end. */
  dropped = 0;
  lastError = "";
  readonly #options: OutboxOptions<T>;
  readonly #queue: T[] = [];
  readonly #end = new AbortController();
  #working: Promise<void> | undefined;
  #deadline: ReturnType<typeof setTimeout> | undefined;

  constructor(options: OutboxOptions<T>) {
    this.#options = options;
  }

  push(item: T): void {
    if (this.#queue.length >= this.#options.limit) {
      this.#queue.shift();
      this.dropped++;
    }
    this.#queue.push(item);
    this.#working ??= this.#work();
  }

  /** The run is ending: what is left has until the deadline. */
  finish(): void {
    this.#deadline ??= setTimeout(() => this.#end.abort(), FLUSH_MS);
  }

  /** Waits for the queue to empty or the deadline to pass; nothing is left behind. */
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
    for (let item = this.#queue.shift(); item !== undefined; item = this.#queue.shift()) {
      if (this.#end.signal.aborted) {
        this.dropped++;
        continue;
      }
      try {
        await this.#deliver(item);
        this.delivered++;
      } catch (error) {
        this.failed++;
        this.lastError = error instanceof Error ? error.message : String(error);
      }
    }
    this.#working = undefined;
  }

  async #deliver(item: T): Promise<void> {
    const { send, retries, backoff } = this.#options;
    const { signal } = this.#end;
    await withRetries({ retries, backoff, signal }, () => send(item, signal));
  }
}
