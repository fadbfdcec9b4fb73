// Where a tokenizer's own code runs: in Node in a thread, so that a pattern or a template that hangs ends with an error
// after seconds; in a browser here, since a page cannot wait for a thread.
import { DataError } from "../../core/errors.ts";
import type { MaybePromise } from "../../core/model.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { Thread, type Pending } from "../../platform/thread.ts";
import { TextProcessor, type TokenizerFacts } from "./text-processor.ts";
import type { TokenizerFiles } from "./tokenizer-files.ts";

type Method = "encode" | "decode" | "tokenId" | "render" | "convert";
type Arguments<M extends Method> = Parameters<TextProcessor[M]>;
type Answer<M extends Method> = ReturnType<TextProcessor[M]>;

/** Calls methods of a `TextProcessor`. */
export interface TextRunner {
  readonly facts: TokenizerFacts;
  call<M extends Method>(method: M, ...args: Arguments<M>): MaybePromise<Answer<M>>;
  /** The same for callers that cannot await. */
  callSync<M extends Method>(method: M, ...args: Arguments<M>): Answer<M>;
  close(): Promise<void>;
}

export async function openTextRunner(files: TokenizerFiles): Promise<TextRunner> {
  if (currentPlatform().name === "node") return ThreadRunner.open(files);
  const processor = await TextProcessor.load(files, () => {});
  const callSync: TextRunner["callSync"] = (method, ...args) => apply(processor, { method, args });
  return { facts: processor.facts, call: callSync, callSync, close: async () => {} };
}

/** A method and its arguments as data. */
export interface TextRequest<M extends Method = Method> {
  readonly method: M;
  readonly args: Arguments<M>;
}

export function apply<M extends Method>(processor: TextProcessor, { method, args }: TextRequest<M>): Answer<M> {
  const call = processor[method] as (...args: Arguments<M>) => Answer<M>;
  return call.apply(processor, args);
}

/** What the thread is started with: `cells` tell what it works on. */
export interface TextThreadStart {
  readonly files: TokenizerFiles;
  readonly cells: Int32Array;
}

/** The cells: pieces of work begun so far, and of the current one its characters and its line in a file, or 0. */
export const CELL = { begun: 0, characters: 1, line: 2 } as const;

/** Milliseconds for any text, and more for a long one: ten times what a slow machine takes. */
const DEADLINE_MS = 5000;
const MS_PER_CHARACTER = 0.1;
/** For reading a tokenizer, which may have 30 MB. */
const LOADING_MS = 120_000;
const LOOK_EVERY_MS = 250;
/** An idle thread is kept for this many milliseconds. It holds a vocabulary, and starts again when it is needed. */
const IDLE_MS = 30_000;
/** MiB for objects of the thread. The largest vocabularies take some 500. */
const THREAD_MEMORY = 2048;

type TextThread = Thread<TextRequest | { readonly facts: true }, unknown>;

/** One start of the thread. */
interface Running {
  readonly thread: TextThread;
  readonly cells: Int32Array;
  /** What it had begun when that last changed, and when. */
  begun: number;
  since: number;
  /** Why it was stopped. */
  failure?: Error;
}

class ThreadRunner implements TextRunner {
  readonly #files: TokenizerFiles;
  #facts: TokenizerFacts | undefined;
  #running: Running | undefined;
  /** Calls that wait for an answer. */
  #waiting = 0;
  #watch: ReturnType<typeof setInterval> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  static async open(files: TokenizerFiles): Promise<ThreadRunner> {
    const runner = new ThreadRunner(files);
    const running = runner.#start();
    runner.#facts = (await runner.#wait(running, running.thread.ask({ facts: true }))) as TokenizerFacts;
    return runner;
  }

  private constructor(files: TokenizerFiles) {
    this.#files = files;
  }

  get facts(): TokenizerFacts {
    return this.#facts!;
  }

  async call<M extends Method>(method: M, ...args: Arguments<M>): Promise<Answer<M>> {
    const running = this.#start();
    return (await this.#wait(running, running.thread.ask({ method, args }))) as Answer<M>;
  }

  callSync<M extends Method>(method: M, ...args: Arguments<M>): Answer<M> {
    const running = this.#start();
    const pending = running.thread.ask({ method, args });
    for (;;) {
      const answer = this.#orFailure(running, () => running.thread.waitSync(pending, LOOK_EVERY_MS));
      if (answer !== undefined || pending.outcome !== undefined) return answer as Answer<M>;
      this.#stopLate(running);
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#running?.thread.close();
  }

  #closeIfIdle(): void {
    if (this.#waiting === 0) void this.close();
  }

  /** The thread, started again if it has ended: one conversation that hangs does not spoil the others. */
  #start(): Running {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#closeIfIdle(), IDLE_MS);
    // The process may end before that.
    this.#idle.unref();
    if (this.#running && !this.#running.thread.hasEnded) {
      if (this.#waiting === 0) this.#running.since = performance.now();
      return this.#running;
    }
    const cells = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
    const thread: TextThread = new Thread({
      name: `the thread of the tokenizer of ${this.#files.path}`,
      script: { beside: import.meta.url, name: "text-worker" },
      data: { files: this.#files, cells } satisfies TextThreadStart,
      memory: THREAD_MEMORY,
    });
    return (this.#running = { thread, cells, begun: 0, since: performance.now() });
  }

  async #wait(running: Running, pending: Pending<unknown>): Promise<unknown> {
    if (this.#waiting++ === 0) this.#watch = setInterval(() => this.#stopLate(this.#running!), LOOK_EVERY_MS);
    try {
      return await running.thread.wait(pending);
    } catch (cause) {
      throw running.failure ?? cause;
    } finally {
      if (--this.#waiting === 0) clearInterval(this.#watch);
      this.#idle?.refresh();
    }
  }

  #orFailure<T>(running: Running, call: () => T): T {
    try {
      return call();
    } catch (cause) {
      throw running.failure ?? cause;
    }
  }

  /** Stops a thread that has worked on one piece for too long. */
  #stopLate(running: Running): void {
    const { cells, thread } = running;
    const [begun, now] = [Atomics.load(cells, CELL.begun), performance.now()];
    if (begun !== running.begun) [running.begun, running.since] = [begun, now];
    const characters = Atomics.load(cells, CELL.characters);
    const deadline = begun === 0 ? LOADING_MS : DEADLINE_MS + MS_PER_CHARACTER * characters;
    if (now - running.since < deadline || thread.hasEnded) return;
    running.failure = this.#tooLate(begun, characters, Atomics.load(cells, CELL.line), deadline);
    void thread.close();
  }

  #tooLate(begun: number, characters: number, line: number, deadline: number): Error {
    const { path } = this.#files;
    const after = `has not finished after ${(deadline / 1000).toFixed(0)} s`;
    if (begun === 0) return new DataError(`${path}/tokenizer.json: reading it ${after}.`);
    const where = line === 0 ? "" : `, line ${line} of the data`;
    return new DataError(
      `${path}: its tokenizer or its chat template ${after} on one text of ${characters} characters${where}. ` +
        "A pattern in tokenizer.json or a loop of the template may have no end: use files of a model that you trust.",
    );
  }
}
