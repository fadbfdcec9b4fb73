// Tries again what failed for a passing reason, with growing pauses that no two senders share.
import { pause } from "./outbox.ts";
import { SendError } from "./post.ts";

export interface RetryOptions {
  /** Further attempts after the first. */
  readonly retries: number;
  /** Milliseconds before the second attempt; doubled each time, and up to half of it taken off by chance. */
  readonly backoff: number;
  readonly signal: AbortSignal;
}

/** Never wait longer than this between two attempts, whatever the server asks for. */
const LONGEST_WAIT = 30_000;

/** What `work` resolves to; rejects with its last error when that is final, the attempts are used up, or it is aborted. */
export async function withRetries<T>({ retries, backoff, signal }: RetryOptions, work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SendError) || !error.retry || attempt >= retries || signal.aborted) throw error;
      const jittered = backoff * 2 ** attempt * (0.5 + Math.random() / 2);
      await pause(Math.min(error.wait ?? jittered, LONGEST_WAIT), signal);
      // Over while it waited: the reason is still what the last attempt met.
      if (signal.aborted) throw error;
    }
  }
}
