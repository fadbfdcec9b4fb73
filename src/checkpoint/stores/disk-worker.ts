// The thread that hashes, writes and syncs checkpoints.
import { builtin } from "../../platform/builtin.ts";
import { toFailure } from "../../platform/thread-failure.ts";
import { callDisk, type DiskCall, type DiskReply } from "./disk-thread.ts";
import { nodeFs } from "../../platform/durable-files.ts";
import { Disk, type DiskOptions } from "./disk.ts";

interface Threads {
  readonly workerData: DiskOptions;
  readonly parentPort: {
    on(event: "message", handler: (call: DiskCall) => void): void;
    postMessage(reply: DiskReply, transfer: readonly ArrayBuffer[]): void;
  };
}

const { parentPort, workerData } = builtin<Threads>("The writing thread", "node:worker_threads");
const disk = new Disk(nodeFs(), workerData);

/** Buffers of files that were read: they are transferred to the calling thread, not copied. */
function buffersIn(value: unknown): ArrayBuffer[] {
  if (value instanceof Uint8Array) return [value.buffer as ArrayBuffer];
  const { files } = (value ?? {}) as { files?: Readonly<Record<string, unknown>> };
  return Object.values(files ?? {}).flatMap((file) => (file instanceof Uint8Array ? [file.buffer as ArrayBuffer] : []));
}

parentPort.on("message", (call) => {
  try {
    const value = callDisk(disk, call);
    parentPort.postMessage({ id: call.id, value }, buffersIn(value));
  } catch (error) {
    parentPort.postMessage({ id: call.id, failure: toFailure(error) }, []);
  }
});
