// A loader whose batches are made by threads that take turns, beside training: in the same order, with the same bits.
import { DataError } from "../core/errors.ts";
import type { Loader, LoaderState, MaybePromise, HostBatch } from "../core/model.ts";
import { all, chain, guard, messageOf } from "../core/maybe.ts";
import { builtin } from "../platform/builtin.ts";
import { Thread, type Pending } from "../platform/thread.ts";

/** What a thread is started with. */
export interface LoaderThreadStart {
  /** The URL of the module and, after the #, of its export. */
  readonly module: string;
  /** Its name in messages. */
  readonly shown: string;
}

/** Where a pass over the data begins. */
export interface PassStart {
  readonly epoch: number;
  readonly seed: number;
  readonly at: LoaderState | undefined;
}

/**
 * To a thread: the loader's length; the start of a pass, which takes effect with the next `open` or `read`; going to
 * that start; batch `read` (from 0, in ascending order); the end of the pass. `begin` and `end` have no answer.
 */
export type LoaderRequest =
  | { readonly length: true }
  | { readonly begin: PassStart }
  | { readonly open: true }
  | { readonly read: number }
  | { readonly end: true };

/** What a thread has made: a batch, or none at the end of the pass, and the position after it. */
interface MadeBatch {
  readonly batch: HostBatch | undefined;
  readonly state: LoaderState;
}

export type LoaderAnswer = MadeBatch | { readonly length: number | undefined } | undefined;

/** One of the threads, whose failures are errors of the loader. */
class LoaderThread {
  readonly #thread: Thread<LoaderRequest, LoaderAnswer>;
  readonly #shown: string;

  constructor(module: URL, shown: string) {
    const data: LoaderThreadStart = { module: module.href, shown };
    const script = { beside: import.meta.url, name: "loader-worker" };
    this.#shown = shown;
    this.#thread = new Thread({ name: "its thread", script, data });
  }

  get hasEnded(): boolean {
    return this.#thread.hasEnded;
  }

  /** Resolves when the thread has imported the module. */
  async length(): Promise<number | undefined> {
    const answer = await this.wait(this.ask({ length: true }));
    return (answer as { readonly length: number | undefined }).length;
  }

  ask(request: LoaderRequest): Pending<LoaderAnswer> {
    return this.#thread.ask(request);
  }

  wait(pending: Pending<LoaderAnswer>): MaybePromise<LoaderAnswer> {
    return guard(
      () => this.#thread.wait(pending),
      (cause) => {
        throw new DataError(`Loader ${this.#shown}: ${messageOf(cause)}`, { cause });
      },
    );
  }

  /** Does nothing when the thread has ended: the next read fails. */
  send(request: LoaderRequest): void {
    if (!this.#thread.hasEnded) this.#thread.send(request);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

/** A closed loader keeps its threads for this many milliseconds: the next evaluation often follows soon. */
const IDLE_MS = 5000;

/** One pass over the data: what was consumed, and what was requested beyond it. */
interface Pass {
  readonly seed: number;
  readonly ahead: { readonly thread: LoaderThread; readonly pending: Pending<LoaderAnswer> }[];
  /** The threads that have begun it, if any. */
  threads: readonly LoaderThread[] | undefined;
  /** The consumed position. */
  state: LoaderState;
  /** The number of the batch to request next. */
  next: number;
}

/** Resolves when the threads have imported the module. */
export async function openThreadedLoader(module: URL, workers: number, prefetch: number): Promise<Loader> {
  const threads = startThreads(module, workers);
  try {
    const [length] = await Promise.all(threads.map((thread) => thread.length()));
    return new ThreadedLoader(module, length, threads, prefetch);
  } catch (error) {
    await Promise.all(threads.map((thread) => thread.close()));
    throw error;
  }
}

function startThreads(module: URL, workers: number): LoaderThread[] {
  const file = builtin("workerLoader", "node:url").fileURLToPath(module);
  const shown = builtin("workerLoader", "node:path").relative(process.cwd(), file) + module.hash;
  return Array.from({ length: workers }, () => new LoaderThread(module, shown));
}

class ThreadedLoader implements Loader {
  readonly length: number | undefined;
  readonly #module: URL;
  readonly #workers: number;
  readonly #prefetch: number;
  #threads: readonly LoaderThread[] | undefined;
  #pass: Pass | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;

  constructor(module: URL, length: number | undefined, threads: readonly LoaderThread[], prefetch: number) {
    this.length = length;
    this.#module = module;
    this.#workers = threads.length;
    this.#prefetch = prefetch;
    this.#threads = threads;
    this.#closeThreadsLater();
  }

  begin(epoch: number, seed: number): void {
    clearTimeout(this.#linger);
    this.#pass = { seed, ahead: [], threads: undefined, state: { epoch, batches: 0, samples: 0 }, next: 0 };
  }

  next(): MaybePromise<HostBatch | undefined> {
    const pass = this.#begun();
    return chain(this.#read(pass), ({ batch, state }) => {
      if (batch !== undefined) pass.state = state;
      return batch;
    });
  }

  skip(): MaybePromise<boolean> {
    return chain(this.next(), (batch) => batch !== undefined);
  }

  state(): LoaderState {
    return this.#pass?.state ?? { epoch: 0, batches: 0, samples: 0 };
  }

  load(state: LoaderState): MaybePromise<void> {
    this.begin(state.epoch, this.#begun().seed);
    const pass = this.#begun();
    pass.state = state;
    const opening = this.#threadsOf(pass).map((thread) => thread.wait(thread.ask({ open: true })));
    return chain(all(opening), () => {});
  }

  close(): void {
    if (!this.#pass) return;
    for (const thread of this.#pass.threads ?? []) thread.send({ end: true });
    this.#pass = undefined;
    this.#closeThreadsLater();
  }

  #begun(): Pass {
    if (this.#pass) return this.#pass;
    throw new DataError("workerLoader: no epoch is open. Call `begin(epoch, seed)` first.");
  }

  #read(pass: Pass): MaybePromise<MadeBatch> {
    this.#request(pass, 1);
    const first = pass.ahead.shift();
    // Past the end of a loader that knows its length.
    if (!first) return { batch: undefined, state: pass.state };
    this.#request(pass, this.#prefetch);
    return guard(
      () => first.thread.wait(first.pending) as MaybePromise<MadeBatch>,
      (cause) => {
        // A failed batch was not consumed: the next call requests it again.
        pass.ahead.length = 0;
        pass.threads = undefined;
        throw cause;
      },
    );
  }

  /** Requests the batches after the consumed ones until `count` are on their way, from each thread in turn. */
  #request(pass: Pass, count: number): void {
    const threads = this.#threadsOf(pass);
    while (pass.ahead.length < count && (this.length === undefined || pass.next < this.length)) {
      const thread = threads[pass.next % threads.length]!;
      pass.ahead.push({ thread, pending: thread.ask({ read: pass.next++ }) });
    }
  }

  #threadsOf(pass: Pass): readonly LoaderThread[] {
    if (pass.threads) return pass.threads;
    const { seed, state } = pass;
    if (this.#threads?.some((thread) => thread.hasEnded)) this.#threads = undefined;
    const threads = (this.#threads ??= startThreads(this.#module, this.#workers));
    for (const thread of threads)
      thread.send({ begin: { epoch: state.epoch, seed, at: state.batches > 0 ? state : undefined } });
    pass.threads = threads;
    pass.next = state.batches;
    return threads;
  }

  #closeThreadsLater(): void {
    this.#linger = setTimeout(() => {
      for (const thread of this.#threads ?? []) void thread.close();
      this.#threads = undefined;
    }, IDLE_MS);
    this.#linger.unref();
  }
}
