// The thread that formats, writes and sends what is logged, seen from the training thread. One serves all backends.
import { HooklineError } from "../core/errors.ts";
import { currentPlatform } from "../platform/platform.ts";
import { Thread } from "../platform/thread.ts";
import type { RunEnd, RunFacts } from "../runs/types.ts";
import type { RecordBatch } from "./threaded-backend.ts";

/** What a backend on the logging thread is to do. */
export type Call =
  | { readonly method: "open"; readonly kind: string; readonly settings: object; readonly run: RunFacts }
  | { readonly method: "flush"; readonly isSync?: boolean }
  | { readonly method: "close"; readonly end: RunEnd };

/** The batch comes before the call. Without either it is answered when the thread is ready. */
export interface LoggingRequest {
  /** Which backend it is for. */
  readonly backend: number;
  readonly batch?: RecordBatch | undefined;
  readonly call?: Call;
}

export interface BackendWarning {
  readonly backend: number;
  readonly warning: string;
}

/** Cells of the memory that both threads share: the number of batches taken, and the outcome of a synchronous flush. */
export const TAKEN = 0;
export const FLUSHED = 1;
export const FLUSH = { pending: 0, done: 1, failed: 2 } as const;

/** An idle thread is kept for this many milliseconds: the next run often follows at once. */
const IDLE_MS = 5000;
/** Batches that may be on their way; with more, training waits for the thread. */
const MOST_BATCHES = 256;
/** Milliseconds that training waits for a thread that does not answer, because its disk hangs, say. */
const THREAD_TIMEOUT_MS = 60_000;

export class LoggingThread {
  readonly #cells = new Int32Array(new SharedArrayBuffer(8));
  readonly #backends = new Map<number, (warning: string) => void>();
  readonly #thread = new Thread<LoggingRequest, void, BackendWarning>({
    name: "the logging thread",
    script: { beside: import.meta.url, name: "logging-worker" },
    data: this.#cells,
    onNotice: ({ backend, warning }) => this.#backends.get(backend)?.(warning),
  });
  #lastBackend = 0;
  #batches = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;

  /** Resolves when the thread listens. */
  static async start(): Promise<LoggingThread> {
    const thread = new LoggingThread();
    await thread.#thread.request({ backend: 0 });
    return thread;
  }

  get hasEnded(): boolean {
    return this.#thread.hasEnded;
  }

  /** Returns a number for a backend, whose warnings go to `warn`. */
  enter(warn: (warning: string) => void): number {
    clearTimeout(this.#idle);
    this.#backends.set(++this.#lastBackend, warn);
    return this.#lastBackend;
  }

  leave(backend: number): void {
    this.#backends.delete(backend);
    if (this.#backends.size > 0) return;
    this.#idle = setTimeout(() => void this.#thread.close(), IDLE_MS);
    // The process may end before that.
    this.#idle.unref();
  }

  async call(backend: number, call: Call, batch?: RecordBatch): Promise<void> {
    await this.#thread.request({ backend, batch, call }, this.#transfer(batch));
  }

  send(backend: number, batch: RecordBatch): void {
    this.#thread.send({ backend, batch }, this.#transfer(batch));
  }

  /** Blocks this thread until the other one has written all: for where nothing can be awaited. */
  flushSync(backend: number, batch: RecordBatch): void {
    Atomics.store(this.#cells, FLUSHED, FLUSH.pending);
    this.#thread.send({ backend, batch, call: { method: "flush", isSync: true } }, this.#transfer(batch));
    Atomics.wait(this.#cells, FLUSHED, FLUSH.pending, THREAD_TIMEOUT_MS);
    const outcome = Atomics.load(this.#cells, FLUSHED);
    if (outcome === FLUSH.pending) throw new HooklineError("what was logged could not be written in time.");
    if (outcome === FLUSH.failed) throw new HooklineError("what was logged could not be written.");
  }

  /** The buffers of a batch. Records that come faster than they are written must not fill the memory, so this may wait. */
  #transfer(batch: RecordBatch | undefined): ArrayBuffer[] {
    if (!batch) return [];
    this.#batches = (this.#batches + 1) | 0;
    const taken = Atomics.load(this.#cells, TAKEN);
    const isFull = ((this.#batches - taken) | 0) > MOST_BATCHES;
    if (isFull && !this.hasEnded) Atomics.wait(this.#cells, TAKEN, taken, THREAD_TIMEOUT_MS);
    return [batch.numbers.buffer as ArrayBuffer];
  }
}

let shared: Promise<LoggingThread | undefined> | undefined;

/** The thread of this process; undefined where there can be none: then the caller does the work itself. */
export async function loggingThread(): Promise<LoggingThread | undefined> {
  if (currentPlatform().name !== "node") return undefined;
  const last = shared;
  // Another backend that waited for the same may have started the next one meanwhile.
  if ((await last)?.hasEnded && shared === last) shared = undefined;
  // A bundler that leaves the thread's script behind must not cost a log.
  shared ??= LoggingThread.start().catch((error: Error) => {
    currentPlatform().warn(`what is logged is written on the training thread: ${error.message}`);
    return undefined;
  });
  return shared;
}
