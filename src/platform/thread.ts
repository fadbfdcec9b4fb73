// One way to talk to a worker thread of Node's: typed requests and answers, failures with their class, an orderly close.
import { CheckpointError, HooklineError, LockLostError, OptionError } from "../core/errors.ts";
import type { MaybePromise } from "../core/model.ts";
import { builtin } from "./builtin.ts";
import { codeOf } from "./file-errors.ts";

export interface WorkerThread {
  on(event: "message", handler: (message: unknown) => void): void;
  on(event: "error", handler: (error: Error) => void): void;
  on(event: "exit", handler: () => void): void;
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}

interface Port {
  on(event: "message", handler: (message: never) => void): void;
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
}

interface WorkerOptions {
  readonly workerData: unknown;
  readonly transferList: readonly unknown[];
  readonly eval?: boolean;
  readonly resourceLimits?: { readonly maxOldGenerationSizeMb: number };
}

interface NodeThreads {
  readonly Worker: new (script: URL | string, options: WorkerOptions) => WorkerThread;
  readonly MessageChannel: new () => { readonly port1: Port; readonly port2: unknown };
  readonly workerData: unknown;
  receiveMessageOnPort(port: Port): { readonly message: unknown } | undefined;
}

let loadedThreads: NodeThreads | undefined;
const nodeThreads = (): NodeThreads =>
  (loadedThreads ??= builtin("A thread", "node:worker_threads") as unknown as NodeThreads);

/** `beside` is the starting module's `import.meta.url`, `script` a file name without its extension in the same folder. */
export function startWorkerThread(
  beside: string,
  script: string,
  workerData: unknown,
  transferList: readonly unknown[] = [],
  limits: Pick<WorkerOptions, "resourceLimits"> = {},
): WorkerThread {
  const { Worker } = nodeThreads();
  const path = (extension: string): URL => new URL(beside.replace(/[^/]*$/, `${script}.${extension}`));
  if (!beside.endsWith(".ts")) return new Worker(path("js"), { workerData, transferList, ...limits });
  // From the sources, as in our tests and examples: tsx compiles the script too.
  const source = JSON.stringify(path("ts").href);
  const load = `import("tsx/esm/api").then(({ tsImport }) => tsImport(${source}, ${source}))`;
  return new Worker(load, { workerData, transferList, eval: true, ...limits });
}

/** What a thread's script is started with. */
interface Start {
  readonly data: unknown;
  readonly port: Port;
  /** One cell: the number of answers that the thread has sent. */
  readonly answered: Int32Array;
}

/** To the thread: a request to be answered (with an id), a message without an answer, or the request to end. */
type ToThread<Request> = { readonly id?: number; readonly request: Request } | { readonly close: true };

type FromThread<Answer, Notice> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly failure: ThreadFailure }
  | { readonly notice: Notice };

/** A request that the thread has not answered yet, or whose answer nobody has taken. */
export interface Pending<Answer> {
  outcome?: { readonly answer: Answer } | { readonly error: Error };
  settle?: () => void;
}

export interface ThreadOptions<Notice> {
  /** What errors call it: `the logging thread`. */
  readonly name: string;
  /** Its script: a file beside a module (see `startWorkerThread`), or its text, which no bundler can leave behind. */
  readonly script: { readonly beside: string; readonly name: string } | { readonly text: string };
  /** What the script gets from `threadData`. */
  readonly data: unknown;
  /** Receives what the thread says without having been asked: warnings, say. */
  readonly onNotice?: (notice: Notice) => void;
  /** MiB that its objects may take: beyond that it fails instead of the process. Default: Node's own limit. */
  readonly memory?: number;
  /** Called once, when the thread ends or fails without having been closed. */
  readonly onEnd?: (error: Error) => void;
}

/** Milliseconds that a thread has to finish its requests when it is closed; then it is terminated. */
const LONGEST_CLOSE = 2000;

export class Thread<Request, Answer = unknown, Notice = never> {
  readonly #options: ThreadOptions<Notice>;
  readonly #worker: WorkerThread;
  readonly #port: Port;
  readonly #pending = new Map<number, Pending<Answer>>();
  readonly #exited: Promise<void>;
  readonly #answered = new Int32Array(new SharedArrayBuffer(4));
  #lastId = 0;
  /** Requests whose answer is awaited: the process must not end before they are answered. */
  #awaited = 0;
  #ended: Error | undefined;

  constructor(options: ThreadOptions<Notice>) {
    this.#options = options;
    const { name, script, data, memory } = options;
    const { MessageChannel, Worker } = nodeThreads();
    const { port1, port2 } = new MessageChannel();
    const start = { data, port: port2, answered: this.#answered };
    const limits = memory === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: memory } };
    const worker =
      "text" in script
        ? new Worker(script.text, { eval: true, workerData: start, transferList: [port2], ...limits })
        : startWorkerThread(script.beside, script.name, start, [port2], limits);
    this.#worker = worker;
    this.#port = port1;
    port1.on("message", (message: FromThread<Answer, Notice>) => this.#receive(message));
    // A process may end while the thread is idle or works ahead.
    port1.unref();
    worker.unref();
    worker.on("error", (error) => {
      const failure = new HooklineError(`${name} has failed: ${error.message}`);
      if (error.stack !== undefined) failure.stack = error.stack;
      this.#end(failure);
    });
    this.#exited = new Promise((resolve) =>
      worker.on("exit", () => {
        this.#end(new HooklineError(`${name} has failed: it stopped`));
        resolve();
      }),
    );
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Sends a request and resolves to its answer. What is in `transfer` moves to the thread and is gone here. */
  async request(request: Request, transfer?: readonly ArrayBuffer[]): Promise<Answer> {
    return this.wait(this.ask(request, transfer));
  }

  /** Sends a request whose answer `wait` returns later. */
  ask(request: Request, transfer?: readonly ArrayBuffer[]): Pending<Answer> {
    if (this.#ended) return { outcome: { error: this.#ended } };
    const pending: Pending<Answer> = {};
    const id = ++this.#lastId;
    this.#post({ id, request }, transfer);
    this.#pending.set(id, pending);
    return pending;
  }

  /** Sends what needs no answer. Throws when the thread has ended. */
  send(request: Request, transfer?: readonly ArrayBuffer[]): void {
    if (this.#ended) throw this.#ended;
    this.#post({ request }, transfer);
  }

  /** The answer; at once if it has arrived, without a turn of the event loop. */
  wait(pending: Pending<Answer>): MaybePromise<Answer> {
    while (pending.outcome === undefined && this.#receiveNext());
    if (pending.outcome) return answerOf(pending);
    if (this.#awaited++ === 0) this.#port.ref();
    return new Promise<void>((resolve) => (pending.settle = resolve)).then(() => {
      if (--this.#awaited === 0) this.#port.unref();
      return answerOf(pending);
    });
  }

  /** Blocks this thread until the answer has arrived, for at most `ms`: for callers that cannot await. */
  waitSync(pending: Pending<Answer>, ms: number): Answer | undefined {
    const deadline = performance.now() + ms;
    for (;;) {
      const seen = Atomics.load(this.#answered, 0);
      while (pending.outcome === undefined && this.#receiveNext());
      if (pending.outcome) return answerOf(pending);
      const left = deadline - performance.now();
      // A thread that ends says so only to the event loop, so the wait cannot be without a limit.
      if (left <= 0) return undefined;
      Atomics.wait(this.#answered, 0, seen, left);
    }
  }

  /** The thread finishes the requests that it works on and ends. Nobody gets an answer any more. */
  async close(): Promise<void> {
    this.#end(new HooklineError(`${this.#options.name} was closed`), true);
    // Awaited, so the process must not end before it.
    this.#worker.ref();
    this.#post({ close: true });
    const late = setTimeout(() => void this.#worker.terminate(), LONGEST_CLOSE);
    await this.#exited;
    clearTimeout(late);
  }

  #post(message: ToThread<Request>, transfer?: readonly ArrayBuffer[]): void {
    this.#port.postMessage(message, transfer);
  }

  #receiveNext(): boolean {
    const received = nodeThreads().receiveMessageOnPort(this.#port);
    if (received) this.#receive(received.message as FromThread<Answer, Notice>);
    return received !== undefined;
  }

  #receive(message: FromThread<Answer, Notice>): void {
    if ("notice" in message) return this.#options.onNotice?.(message.notice);
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (!pending) return undefined;
    pending.outcome = "failure" in message ? { error: fromFailure(message.failure) } : message;
    return pending.settle?.();
  }

  #end(error: Error, isClosed = false): void {
    if (this.#ended) return;
    // Answers that it sent before may still lie in the port: one of them may say why it ended.
    while (this.#receiveNext());
    this.#ended = error;
    for (const pending of this.#pending.values()) {
      pending.outcome = { error };
      pending.settle?.();
    }
    this.#pending.clear();
    if (!isClosed) this.#options.onEnd?.(error);
  }
}

function answerOf<Answer>({ outcome }: Pending<Answer>): Answer {
  if (outcome && "answer" in outcome) return outcome.answer;
  throw outcome!.error;
}

const start = (): Start => nodeThreads().workerData as Start;

/** In a thread's script: the `data` that it was started with. */
export const threadData = (): unknown => start().data;

/** In a thread's script: says something without having been asked. */
export function notify(notice: unknown): void {
  start().port.postMessage({ notice });
}

/**
 * In a thread's script: answers every request with what `handle` returns or throws. Requests are not held back: a slow
 * one does not delay the next. The buffers that `transferOf` returns move to the other thread instead of being copied.
 */
export function serve<Answer>(
  handle: (request: never) => MaybePromise<Answer>,
  transferOf: (answer: Answer) => readonly ArrayBuffer[] = () => [],
): void {
  const { port, answered } = start();
  let running = 0;
  let isClosing = false;

  async function work(id: number | undefined, request: never): Promise<void> {
    running++;
    try {
      const answer = await handle(request);
      if (id !== undefined) port.postMessage({ id, answer }, transferOf(answer));
    } catch (error) {
      if (id !== undefined) port.postMessage({ id, failure: toFailure(error) });
    }
    Atomics.add(answered, 0, 1);
    Atomics.notify(answered, 0);
    running--;
    exitIfDone();
  }

  function exitIfDone(): void {
    // Ends this thread, not the process, whatever timers and connections it holds.
    if (isClosing && running === 0) process.exit();
  }

  port.on("message", (message: ToThread<never>) => {
    if ("request" in message) return void work(message.id, message.request);
    isClosing = true;
    return exitIfDone();
  });
}

/** An error as data: a message between threads would lose its class. */
interface ThreadFailure {
  readonly kind: "lockLost" | "checkpoint" | "option" | "other";
  readonly message: string;
  readonly stack: string | undefined;
  readonly file: string;
  readonly reason: string;
  readonly cause: string;
  readonly code: string | undefined;
}

function toFailure(error: unknown): ThreadFailure {
  const { file = "", reason = "" } = error instanceof CheckpointError ? error : {};
  const { message, stack, cause } = error instanceof Error ? error : new Error(String(error));
  const causeMessage = cause instanceof Error ? cause.message : "";
  return { kind: kindOf(error), message, stack, file, reason, cause: causeMessage, code: codeOf(cause) };
}

function kindOf(error: unknown): ThreadFailure["kind"] {
  if (error instanceof LockLostError) return "lockLost";
  if (error instanceof CheckpointError) return "checkpoint";
  return error instanceof OptionError ? "option" : "other";
}

function fromFailure(failure: ThreadFailure): Error {
  const error = errorOf(failure);
  if (failure.stack !== undefined) error.stack = failure.stack;
  return error;
}

function errorOf({ kind, message, file, reason, cause, code }: ThreadFailure): Error {
  if (kind === "option") return new OptionError(message);
  if (kind === "other") return new HooklineError(message);
  if (kind === "lockLost") return new LockLostError(file, reason);
  const options = code === undefined ? undefined : { cause: Object.assign(new Error(cause), { code }) };
  return new CheckpointError(file, reason, message.slice(`${file}: ${reason}. `.length), options);
}
