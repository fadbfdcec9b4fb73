// A loader whose batches are made beside training by threads that take turns: in the same order and with the same bits.
import { DataError } from "../core/errors.ts";
import type { HostBatch, Loader, LoaderState, MaybePromise } from "../core/model.ts";
import { all, chain, guard } from "../core/maybe.ts";
import { builtin } from "../platform/builtin.ts";
import { type Asked, LoaderThread } from "./loader-thread.ts";
import type { FromThread } from "./thread-messages.ts";

/** A closed loader keeps its threads for this many milliseconds: the next evaluation often follows soon. */
const LINGER = 5000;

/** One pass over the data: what was consumed, and what was asked for beyond it. */
interface Pass {
  readonly seed: number;
  readonly ahead: { readonly thread: LoaderThread; readonly asked: Asked }[];
  /** Those that have begun it, if any have. */
  threads: readonly LoaderThread[] | undefined;
  /** The consumed position. */
  state: LoaderState;
  /** The number of the batch to ask for next. */
  next: number;
}

type Paths = ReturnType<typeof process.getBuiltinModule<"node:path">>;
type Urls = ReturnType<typeof process.getBuiltinModule<"node:url">>;

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
  const file = builtin<Urls>("workerLoader", "node:url").fileURLToPath(module);
  const shown = builtin<Paths>("workerLoader", "node:path").relative(process.cwd(), file) + module.hash;
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
    this.#letGo();
  }

  begin(epoch: number, seed: number): void {
    clearTimeout(this.#linger);
    this.#pass = { seed, ahead: [], threads: undefined, state: { epoch, batches: 0, samples: 0 }, next: 0 };
  }

  next(): MaybePromise<HostBatch | undefined> {
    const pass = this.#begun();
    return chain(this.#read(pass), (answer) => {
      if (!("batch" in answer) || answer.batch === undefined) return undefined;
      pass.state = answer.state;
      return answer.batch;
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
    const opening = this.#threadsOf(pass).map((thread) => thread.wait(thread.open()));
    return chain(all(opening), () => {});
  }

  close(): void {
    if (!this.#pass) return;
    for (const thread of this.#pass.threads ?? []) thread.end();
    this.#pass = undefined;
    this.#letGo();
  }

  #begun(): Pass {
    if (this.#pass) return this.#pass;
    throw new DataError("workerLoader: no epoch is open. Call `begin(epoch, seed)` first.");
  }

  #read(pass: Pass): MaybePromise<FromThread> {
    this.#ask(pass, 1);
    const first = pass.ahead.shift();
    // Past the end of a loader that knows its length.
    if (!first) return { batch: undefined, state: pass.state };
    this.#ask(pass, this.#prefetch);
    return guard(
      () => first.thread.wait(first.asked),
      (cause) => {
        // A failed batch was not consumed: the next call asks for it again.
        pass.ahead.length = 0;
        pass.threads = undefined;
        throw cause;
      },
    );
  }

  /** Asks for the batches after the consumed ones until `count` are on their way, each thread in its turn. */
  #ask(pass: Pass, count: number): void {
    const threads = this.#threadsOf(pass);
    while (pass.ahead.length < count && (this.length === undefined || pass.next < this.length)) {
      const thread = threads[pass.next % threads.length]!;
      pass.ahead.push({ thread, asked: thread.read(pass.next++) });
    }
  }

  #threadsOf(pass: Pass): readonly LoaderThread[] {
    if (pass.threads) return pass.threads;
    const { seed, state } = pass;
    if (this.#threads?.some((thread) => thread.hasEnded)) this.#threads = undefined;
    const threads = (this.#threads ??= startThreads(this.#module, this.#workers));
    for (const thread of threads) thread.begin({ epoch: state.epoch, seed, at: state.batches > 0 ? state : undefined });
    pass.threads = threads;
    pass.next = state.batches;
    return threads;
  }

  #letGo(): void {
    this.#linger = setTimeout(() => {
      for (const thread of this.#threads ?? []) void thread.close();
      this.#threads = undefined;
    }, LINGER);
    this.#linger.unref();
  }
}
