// Failed requests: whether a retry makes sense, and how long to wait before it. One rule for webhook, S3, W&B and MLflow.

/** Why a request did not get through. */
export class SendError extends Error {
  override name = "SendError";
  /** Whether another attempt may succeed. */
  readonly retry: boolean;
  /** Milliseconds that the server asks to wait. */
  readonly wait: number | undefined;

  constructor(message: string, retry: boolean, wait?: number) {
    super(message);
    this.retry = retry;
    this.wait = wait;
  }
}

/** Whether the server may answer otherwise next time: it is overloaded, or failed itself. */
export const mayRetry = (status: number): boolean => status >= 500 || status === 429 || status === 408;

/** Milliseconds that a `Retry-After` header asks to wait, in seconds or as a date; undefined if it asks for no wait. */
export function retryAfterMs(header: string | null | undefined, now = Date.now()): number | undefined {
  const text = header?.trim() ?? "";
  // A date always names its day or month; `Date.parse` would also take "-5" for one.
  const ms = /^\d+(?:\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : /[a-z]/i.test(text)
      ? Date.parse(text) - now
      : Number.NaN;
  return ms > 0 ? ms : undefined;
}

/** No wait is longer than this many milliseconds, whatever the server asks for. */
const LONGEST_RETRY_WAIT = 60_000;

/**
 * Milliseconds to wait after the failed attempt number `attempt` (from 0): what the server asks for, or `backoff` doubled
 * each time, of which chance takes up to half, so that many senders do not come back at the same moment.
 */
export function retryWait(error: SendError, attempt: number, backoff: number): number {
  const jittered = backoff * 2 ** Math.min(attempt, 20) * (0.5 + Math.random() / 2);
  return Math.min(error.wait ?? jittered, LONGEST_RETRY_WAIT);
}

/** Resolves after `ms` milliseconds, or as soon as `signal` is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

export interface RetryOptions {
  /** Further attempts after the first. */
  readonly retries: number;
  /** Milliseconds before the second attempt; see `retryWait`. */
  readonly backoff: number;
  readonly signal: AbortSignal;
}

/** What `work` resolves to. Rejects with its last error when that is final, no attempt is left, or `signal` is aborted. */
export async function withRetries<T>({ retries, backoff, signal }: RetryOptions, work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SendError) || !error.retry || attempt >= retries || signal.aborted) throw error;
      await pause(retryWait(error, attempt, backoff), signal);
      // Aborted meanwhile: the reason is still what the last attempt met.
      if (signal.aborted) throw error;
    }
  }
}
