// Starts the writing thread and talks to it. Should it fail, this thread does the work: a checkpoint matters more than time.
import { currentPlatform } from "../platform/platform.ts";
import { fromFailure } from "../platform/thread-failure.ts";
import { startWorkerThread, type WorkerThread } from "../platform/worker-thread.ts";
import { callDisk, type Call, type DiskMethod, type Reply } from "./disk-calls.ts";
import { nodeFs } from "../platform/durable-files.ts";
import { Disk, type DiskOptions } from "./disk.ts";

/** How the store reaches a disk: in another thread, or in this one. */
export interface DiskAccess {
  call<M extends DiskMethod>(method: M, ...args: Parameters<Disk[M]>): Promise<ReturnType<Disk[M]>>;
  close(): Promise<void>;
}

interface Pending {
  readonly call: Call;
  readonly settle: { resolve(value: unknown): void; reject(error: unknown): void };
}

export class DiskThread implements DiskAccess {
  readonly #options: DiskOptions;
  readonly #pending = new Map<number, Pending>();
  #worker: WorkerThread | undefined;
  #here: Disk | undefined;
  #lastId = 0;
  #closed = false;

  constructor(options: DiskOptions) {
    this.#options = options;
    try {
      this.#worker = this.#start();
    } catch (error) {
      this.#takeOver(error);
    }
  }

  call<M extends DiskMethod>(method: M, ...args: Parameters<Disk[M]>): Promise<ReturnType<Disk[M]>> {
    const call = { id: ++this.#lastId, method, args };
    return new Promise((resolve, reject) => {
      const pending = { call, settle: { resolve: resolve as (value: unknown) => void, reject } };
      if (!this.#worker) return this.#runHere(pending);
      this.#pending.set(call.id, pending);
      // A process may end while the thread idles, not while it saves.
      this.#worker.ref();
      return this.#worker.postMessage(call);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): WorkerThread {
    const worker = startWorkerThread(import.meta.url, "disk-worker", this.#options);
    worker.unref();
    worker.on("message", (reply) => this.#settle(reply as Reply));
    worker.on("error", (error) => this.#takeOver(error));
    worker.on("exit", () => this.#takeOver(new Error("it ended")));
    return worker;
  }

  #settle(reply: Reply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) this.#worker?.unref();
    if ("failure" in reply) pending?.settle.reject(fromFailure(reply.failure));
    else pending?.settle.resolve(reply.value);
  }

  /** A bundler that leaves the thread's script behind, or too little memory, must not cost a checkpoint. */
  #takeOver(cause: unknown): void {
    if (this.#closed || this.#here) return;
    this.#here = new Disk(nodeFs(), this.#options);
    this.#worker = undefined;
    const why = cause instanceof Error ? cause.message : String(cause);
    currentPlatform().warn(`checkpoints are written on the training thread, since the writing thread failed: ${why}`);
    for (const pending of this.#pending.values()) this.#runHere(pending);
    this.#pending.clear();
  }

  #runHere({ call, settle }: Pending): void {
    try {
      settle.resolve(callDisk((this.#here ??= new Disk(nodeFs(), this.#options)), call));
    } catch (error) {
      settle.reject(error);
    }
  }
}
