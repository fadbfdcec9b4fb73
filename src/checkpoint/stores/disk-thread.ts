// Runs a Disk in a thread of its own, so that training does not wait for it. If the thread fails, the calling thread does
// the work: a checkpoint matters more than time.
import { messageOf } from "../../core/maybe.ts";
import { nodeFs } from "../../platform/durable-files.ts";
import { currentPlatform } from "../../platform/platform.ts";
import { Thread } from "../../platform/thread.ts";
import { Disk, type DiskOptions } from "./disk.ts";

/** The methods of Disk that can be called in the thread. */
export type DiskMethod = "save" | "finish" | "abandon" | "list" | "read" | "load" | "verify" | "remove" | "sweep";

export interface DiskCall {
  readonly method: DiskMethod;
  readonly args: readonly unknown[];
}

/** Calls a method by name. `DiskThread.call` ties its arguments to it by type; here they come from a message. */
export function callDisk(disk: Disk, { method, args }: DiskCall): unknown {
  return (disk[method] as (...args: unknown[]) => unknown).call(disk, ...args);
}

export class DiskThread {
  /** The same directory from the calling thread. */
  readonly here: Disk;
  #thread: Thread<DiskCall> | undefined;
  /** Why the thread is gone. */
  #ended: unknown;

  /** `thread: false` does all work in the calling thread. */
  constructor(options: DiskOptions, { thread }: { readonly thread: boolean }) {
    this.here = new Disk(nodeFs(), options);
    if (!thread) return;
    try {
      this.#thread = new Thread<DiskCall>({
        name: "the writing thread",
        script: { beside: import.meta.url, name: "disk-worker" },
        data: options,
        onEnd: (error) => this.#takeOver(error),
      });
    } catch (error) {
      this.#takeOver(error);
    }
  }

  /** Whether calls go to another thread, which reads shared memory in place and everything else as a copy. */
  get isThreaded(): boolean {
    return this.#thread !== undefined;
  }

  async call<M extends DiskMethod>(method: M, ...args: Parameters<Disk[M]>): Promise<ReturnType<Disk[M]>> {
    const call = { method, args };
    try {
      if (this.#thread) return (await this.#thread.request(call)) as ReturnType<Disk[M]>;
    } catch (error) {
      if (error !== this.#ended) throw error;
    }
    return callDisk(this.here, call) as ReturnType<Disk[M]>;
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close();
  }

  /** A bundler that leaves out the thread's script, or too little memory, must not cost a checkpoint. */
  #takeOver(cause: unknown): void {
    this.#ended = cause;
    this.#thread = undefined;
    currentPlatform().warn(
      `checkpoints are written on the training thread, since the writing thread failed: ${messageOf(cause)}`,
    );
  }
}
