// One thread that makes batches, seen from the thread that trains on them.
import { DataError } from "../core/errors.ts";
import type { MaybePromise } from "../core/model.ts";
import { builtin } from "../platform/builtin.ts";
import { startWorkerThread, type WorkerThread } from "../platform/worker-thread.ts";
import type { FromThread, PassStart, ThreadStart, ToThread } from "./thread-messages.ts";

interface Port {
  on(event: "message", handler: (message: FromThread) => void): void;
  postMessage(message: ToThread): void;
  ref(): void;
  unref(): void;
}

interface Threads {
  readonly MessageChannel: new () => { readonly port1: Port; readonly port2: unknown };
  receiveMessageOnPort(port: Port): { readonly message: FromThread } | undefined;
}

/** Something asked of the thread. */
export interface Asked {
  answer?: FromThread;
  tell?: (answer: FromThread) => void;
}

export class LoaderThread {
  readonly #shown: string;
  readonly #threads = builtin<Threads>("workerLoader", "node:worker_threads");
  readonly #worker: WorkerThread;
  readonly #port: Port;
  /** In the order in which they will be answered. The first is for the thread's beginning. */
  readonly #asked: Asked[] = [{}];
  readonly #begun = this.#asked[0]!;
  #waiting = 0;
  #ended: FromThread | undefined;

  constructor(module: URL, shown: string) {
    this.#shown = shown;
    const { port1, port2 } = new this.#threads.MessageChannel();
    this.#port = port1;
    const start: ThreadStart = { module: module.href, shown, port: port2 };
    this.#worker = startWorkerThread(import.meta.url, "loader-worker", start, [port2]);
    port1.on("message", (message) => this.#take(message));
    // A process may end while batches are made ahead, not while one is waited for.
    port1.unref();
    this.#worker.unref();
    this.#worker.on("error", ({ message, stack }) => this.#end({ message: `its thread failed: ${message}`, stack }));
    this.#worker.on("exit", () => this.#end({ message: "its thread has ended", stack: undefined }));
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** The loader's length, when the module has been imported. */
  async length(): Promise<number | undefined> {
    const answer = await this.wait(this.#begun);
    return "length" in answer ? answer.length : undefined;
  }

  begin(start: PassStart): void {
    this.#port.postMessage({ begin: start });
  }

  end(): void {
    this.#port.postMessage({ end: true });
  }

  /** Goes to where the pass begins. */
  open(): Asked {
    return this.#ask({ open: true });
  }

  read(number: number): Asked {
    return this.#ask({ read: number });
  }

  /** The answer, at once when it has come: what lies in the port is taken without a turn of the event loop. */
  wait(asked: Asked): MaybePromise<FromThread> {
    for (let more = true; asked.answer === undefined && more;) {
      const received = this.#threads.receiveMessageOnPort(this.#port);
      if (received) this.#take(received.message);
      more = received !== undefined;
    }
    if (asked.answer) return this.#checked(asked.answer);
    if (this.#waiting++ === 0) this.#port.ref();
    return new Promise<FromThread>((resolve) => (asked.tell = resolve)).then((answer) => this.#checked(answer));
  }

  async close(): Promise<void> {
    this.#end({ message: "its thread was closed", stack: undefined });
    await this.#worker.terminate();
  }

  #ask(message: ToThread): Asked {
    const asked: Asked = {};
    if (this.#ended) asked.answer = this.#ended;
    else {
      this.#asked.push(asked);
      this.#port.postMessage(message);
    }
    return asked;
  }

  #receive(): void {
    for (;;) {
      const received = this.#threads.receiveMessageOnPort(this.#port);
      if (!received) return;
      this.#take(received.message);
    }
  }

  #take(answer: FromThread): void {
    const asked = this.#asked.shift();
    if (!asked) return;
    asked.answer = answer;
    if (!asked.tell) return;
    if (--this.#waiting === 0) this.#port.unref();
    asked.tell(answer);
  }

  #end(failure: { readonly message: string; readonly stack: string | undefined }): void {
    if (this.#ended) return;
    // The last thing that it said may lie in the port: why it ended, perhaps.
    this.#receive();
    this.#ended = { failure };
    while (this.#asked.length > 0) this.#take(this.#ended);
  }

  #checked(answer: FromThread): FromThread {
    if (!("failure" in answer)) return answer;
    const { message, stack } = answer.failure;
    const cause = Object.assign(new Error(message), { stack });
    throw new DataError(`Loader ${this.#shown}: ${message}`, { cause });
  }
}
