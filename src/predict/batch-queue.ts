// The queue of a predictor: calls that wait at the same time are computed as one batch. One batch runs at a time.
import { currentPlatform } from "../platform/platform.ts";

/** How many rows are computed together, and how long the first of them waits for others. */
export interface BatchLimits {
  readonly maxRows: number;
  /** Milliseconds. With 0 a batch takes what is there when the one before it has ended. */
  readonly deadline: number;
}

interface Job<In, Out> {
  readonly rows: readonly In[];
  readonly since: number;
  readonly resolve: (results: Out[]) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening to the caller's signal. */
  unwatch?: () => void;
}

export class BatchQueue<In, Out> {
  readonly #compute: (rows: readonly In[]) => Promise<Out[]>;
  readonly #limits: BatchLimits;
  readonly #platform = currentPlatform();
  #jobs: Job<In, Out>[] = [];
  #waiting = 0;
  #running = 0;
  /** Ends the wait for more rows. */
  #hurry: (() => void) | undefined;
  /** Settles when the queue is empty; undefined while it is. */
  #draining: Promise<void> | undefined;
  /** How many batches have been computed. */
  batches = 0;

  /** `compute` returns one result for each row. */
  constructor(compute: (rows: readonly In[]) => Promise<Out[]>, limits: BatchLimits) {
    this.#compute = compute;
    this.#limits = limits;
  }

  /** Rows that have no result yet. */
  get pending(): number {
    return this.#waiting + this.#running;
  }

  /** The results for at most `maxRows` rows. A job whose signal aborts before its batch starts is not computed. */
  add(rows: readonly In[], signal?: AbortSignal): Promise<Out[]> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const job: Job<In, Out> = { rows, since: performance.now(), resolve, reject };
      this.#jobs.push(job);
      this.#waiting += rows.length;
      if (signal) this.#watch(job, signal);
      if (this.#waiting >= this.#limits.maxRows) this.#hurry?.();
      this.#draining ??= this.#drain();
    });
  }

  /** Settles when every job has its results. */
  async drained(): Promise<void> {
    this.#hurry?.();
    await this.#draining;
  }

  /** A batch that runs already is finished; the results for an aborted job are thrown away. */
  #watch(job: Job<In, Out>, signal: AbortSignal): void {
    const abort = (): void => {
      const at = this.#jobs.indexOf(job);
      if (at >= 0) {
        this.#jobs.splice(at, 1);
        this.#waiting -= job.rows.length;
      }
      job.reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    job.unwatch = () => signal.removeEventListener("abort", abort);
  }

  async #drain(): Promise<void> {
    while (this.#jobs.length > 0) {
      // Engines compute synchronously: without this, sockets and timers would get no turn between two batches.
      await this.#platform.yieldToEvents();
      await this.#waitForMore();
      const batch = this.#take();
      if (batch.length > 0) await this.#settle(batch);
    }
    this.#draining = undefined;
  }

  async #waitForMore(): Promise<void> {
    const { maxRows, deadline } = this.#limits;
    const first = this.#jobs[0];
    const left = first === undefined ? 0 : first.since + deadline - performance.now();
    if (left <= 0 || this.#waiting >= maxRows) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, left);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#hurry = undefined;
  }

  #take(): Job<In, Out>[] {
    let rows = 0;
    let jobs = 0;
    while (jobs < this.#jobs.length && rows + this.#jobs[jobs]!.rows.length <= this.#limits.maxRows)
      rows += this.#jobs[jobs++]!.rows.length;
    this.#waiting -= rows;
    return this.#jobs.splice(0, jobs);
  }

  async #settle(batch: readonly Job<In, Out>[]): Promise<void> {
    const rows = batch.length === 1 ? batch[0]!.rows : batch.flatMap((job) => job.rows);
    this.#running = rows.length;
    try {
      const results = await this.#compute(rows);
      this.batches++;
      let at = 0;
      for (const job of batch) job.resolve(results.slice(at, (at += job.rows.length)));
    } catch (error) {
      // One job's rows must not fail the others: each is computed alone, and its own error goes to its caller.
      if (batch.length > 1) for (const job of batch) await this.#settle([job]);
      else batch[0]!.reject(error);
    }
    for (const job of batch) job.unwatch?.();
    this.#running = 0;
  }
}
