import { HooklineError } from "../core/errors.ts";
import { currentPlatform } from "../platform/platform.ts";
import { type ThreadFailure, fromFailure } from "../platform/thread-failure.ts";
import { startWorkerThread, type WorkerThread } from "../platform/worker-thread.ts";
import type { RecordBatch } from "./threaded-backend.ts";
import type { RunEnd, RunFacts } from "../runs/types.ts";

// The thread that formats, writes and sends what is logged, seen from the training thread. One serves all backends.

/** Without a backend it ends after this many milliseconds: the next run often follows at once. */
const LINGER = 5000;
/** Batches that may be on their way; with more, training waits for the thread. */
const MOST_BATCHES = 256;
/** Milliseconds that training waits for a thread that does not answer: for a disk that hangs, say. */
const LONGEST_WAIT = 10_000;

interface Pending {
  resolve(): void;
  reject(error: Error): void;
}

export class LoggingThread {
  readonly #worker: WorkerThread;
  readonly #cells: Int32Array;
  readonly #pending = new Map<number, Pending>();
  readonly #backends = new Map<number, (warning: string) => void>();
  #ended: Error | undefined;
  #lastId = READY;
  #batches = 0;
  #linger: ReturnType<typeof setTimeout> | undefined;

  private constructor(worker: WorkerThread, cells: Int32Array) {
    this.#worker = worker;
    this.#cells = cells;
    worker.on("message", (message) => this.#hear(message as FromThread));
    worker.on("error", (error) => this.#end(error.message));
    worker.on("exit", () => this.#end("it stopped"));
  }

  /** Resolves when the thread listens; to undefined in a browser. */
  static async start(): Promise<LoggingThread | undefined> {
    if (currentPlatform().name !== "node") return undefined;
    const cells = new Int32Array(new SharedArrayBuffer(8));
    const thread = new LoggingThread(startWorkerThread(import.meta.url, "logging-worker", cells), cells);
    await new Promise<void>((resolve, reject) => thread.#pending.set(READY, { resolve, reject }));
    return thread;
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** A number for a backend, and where its warnings go. */
  enter(warn: (warning: string) => void): number {
    clearTimeout(this.#linger);
    const backend = ++this.#lastId;
    this.#backends.set(backend, warn);
    return backend;
  }

  leave(backend: number): void {
    this.#backends.delete(backend);
    if (this.#backends.size > 0) return;
    this.#linger = setTimeout(() => {
      // Said at once: whoever comes now must start another.
      this.#end("it was not used");
      void this.#worker.terminate();
    }, LINGER);
    // A process may end before that.
    this.#linger.unref();
  }

  call(backend: number, call: Call, batch?: RecordBatch): Promise<void> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#post({ backend, batch, call: { ...call, id } });
      this.#pending.set(id, { resolve, reject });
      // A process may end while the thread idles, not while it is waited for.
      this.#worker.ref();
    });
  }

  send(backend: number, batch: RecordBatch): void {
    this.#post({ backend, batch });
  }

  /** Holds this thread until the other one has written all: for where nothing can be awaited. */
  flushSync(backend: number, batch?: RecordBatch): void {
    Atomics.store(this.#cells, FLUSHED, FLUSH.pending);
    this.#post({ backend, batch, call: { method: "flush", isWaitedFor: true, id: ++this.#lastId } });
    Atomics.wait(this.#cells, FLUSHED, FLUSH.pending, LONGEST_WAIT);
    const outcome = Atomics.load(this.#cells, FLUSHED);
    if (outcome === FLUSH.pending) throw new HooklineError("what was logged could not be written in time.");
    if (outcome === FLUSH.failed) throw new HooklineError("what was logged could not be written.");
  }

  #post(message: ToThread): void {
    if (this.#ended) throw this.#ended;
    const { batch } = message;
    if (batch) this.#makeRoom();
    this.#worker.postMessage(message, batch && [batch.numbers.buffer as ArrayBuffer]);
  }

  /** Whoever logs faster than can be written must not fill the memory. */
  #makeRoom(): void {
    this.#batches = (this.#batches + 1) | 0;
    const taken = Atomics.load(this.#cells, TAKEN);
    if (((this.#batches - taken) | 0) > MOST_BATCHES) Atomics.wait(this.#cells, TAKEN, taken, LONGEST_WAIT);
  }

  #hear(message: FromThread): void {
    if ("warning" in message) {
      this.#backends.get(message.backend)?.(message.warning);
      return;
    }
    const { id, failure } = message;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker.unref();
    if (failure) pending?.reject(fromFailure(failure));
    else pending?.resolve();
  }

  #end(why: string): void {
    this.#ended ??= new HooklineError(`the logging thread has failed: ${why}`);
    for (const { reject } of this.#pending.values()) reject(this.#ended);
    this.#pending.clear();
  }
}

let shared: Promise<LoggingThread | undefined> | undefined;

/** The thread of this process; undefined where there can be none: then whoever asks does the work in its own. */
export async function loggingThread(): Promise<LoggingThread | undefined> {
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

// What the training thread and the logging thread say to each other.

/** What the logging thread is to do; each is answered when it is done. */
export type Call =
  | { readonly method: "open"; readonly kind: string; readonly settings: object; readonly run: RunFacts }
  | { readonly method: "flush"; readonly isWaitedFor?: boolean }
  | { readonly method: "close"; readonly end: RunEnd };

export interface ToThread {
  /** Which backend it is for. */
  readonly backend: number;
  /** Comes before the call. */
  readonly batch?: RecordBatch | undefined;
  readonly call?: (Call & { readonly id: number }) | undefined;
}

export type FromThread =
  | { readonly id: number; readonly failure?: ThreadFailure }
  | { readonly backend: number; readonly warning: string };

/** The answer that nobody asked for: the thread listens. */
export const READY = 0;

/** Places in the memory that both threads see: batches that were taken, and how the flush went that is waited for. */
export const TAKEN = 0;
export const FLUSHED = 1;
export const FLUSH = { pending: 0, done: 1, failed: 2 } as const;
