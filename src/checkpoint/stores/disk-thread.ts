// Runs a Disk in a thread of its own, so that training does not wait for it. If the thread fails, the calling thread does
// the work: a checkpoint matters more than time.
import { nodeFs } from "../../platform/durable-files.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { fromFailure, type ThreadFailure } from "../../platform/thread-failure.ts";
import { startWorkerThread, type WorkerThread } from "../../platform/worker-thread.ts";
import { Disk, type DiskOptions } from "./disk.ts";

/** The methods of Disk that can be called in the thread. */
export type DiskMethod = "save" | "finish" | "abandon" | "list" | "read" | "load" | "verify" | "remove" | "sweep";

export interface DiskCall {
  readonly id: number;
  readonly method: DiskMethod;
  readonly args: readonly unknown[];
}

export type DiskReply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: ThreadFailure };

interface Pending {
  readonly call: DiskCall;
  readonly settle: { resolve(value: unknown): void; reject(error: unknown): void };
}

/** Calls a method by name. `DiskThread.call` ties its arguments to it by type; here they come from a message. */
export function callDisk(disk: Disk, { method, args }: DiskCall): unknown {
  return (disk[method] as (...args: unknown[]) => unknown).call(disk, ...args);
}

export class DiskThread {
  /** The same directory from the calling thread. */
  readonly here: Disk;
  readonly #options: DiskOptions;
  readonly #pending = new Map<number, Pending>();
  #worker: WorkerThread | undefined;
  #lastId = 0;
  #ended = false;

  /** `thread: false` does all work in the calling thread. */
  constructor(options: DiskOptions, { thread }: { readonly thread: boolean }) {
    this.#options = options;
    this.here = new Disk(nodeFs(), options);
    if (!thread) return;
    try {
      this.#worker = this.#start();
    } catch (error) {
      this.#takeOver(error);
    }
  }

  /** Whether calls go to another thread, which reads shared memory in place and everything else as a copy. */
  get isThreaded(): boolean {
    return this.#worker !== undefined;
  }

  call<M extends DiskMethod>(method: M, ...args: Parameters<Disk[M]>): Promise<ReturnType<Disk[M]>> {
    const call = { id: ++this.#lastId, method, args };
    return new Promise((resolve, reject) => {
      const pending = { call, settle: { resolve: resolve as (value: unknown) => void, reject } };
      if (!this.#worker) return this.#runHere(pending);
      this.#pending.set(call.id, pending);
      // A process may end while the thread is idle, but not while it saves.
      this.#worker.ref();
      return this.#worker.postMessage(call);
    });
  }

  async close(): Promise<void> {
    this.#ended = true;
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): WorkerThread {
    const worker = startWorkerThread(import.meta.url, "disk-worker", this.#options);
    worker.unref();
    worker.on("message", (reply) => this.#settle(reply as DiskReply));
    worker.on("error", (error) => this.#takeOver(error));
    worker.on("exit", () => this.#takeOver(new Error("it ended")));
    return worker;
  }

  #settle(reply: DiskReply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) this.#worker?.unref();
    if ("failure" in reply) pending?.settle.reject(fromFailure(reply.failure));
    else pending?.settle.resolve(reply.value);
  }

  /** A bundler that leaves out the thread's script, or too little memory, must not cost a checkpoint. */
  #takeOver(cause: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#worker = undefined;
    const why = cause instanceof Error ? cause.message : String(cause);
    currentPlatform().warn(`checkpoints are written on the training thread, since the writing thread failed: ${why}`);
    for (const pending of this.#pending.values()) this.#runHere(pending);
    this.#pending.clear();
  }

  #runHere({ call, settle }: Pending): void {
    try {
      settle.resolve(callDisk(this.here, call));
    } catch (error) {
      settle.reject(error);
    }
  }
}
