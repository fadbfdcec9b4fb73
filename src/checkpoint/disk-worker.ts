// The writing thread: it hashes, writes and syncs, so that training does not wait for the disk.
import { builtin } from "../platform/builtin.ts";
import { toFailure } from "../platform/thread-failure.ts";
import { callDisk, type Call, type Reply } from "./disk-calls.ts";
import { nodeFs } from "../platform/durable-files.ts";
import { Disk, type DiskOptions } from "./disk.ts";

interface Threads {
  readonly workerData: DiskOptions;
  readonly parentPort: {
    on(event: "message", handler: (call: Call) => void): void;
    postMessage(reply: Reply, transfer: readonly ArrayBuffer[]): void;
  };
}

const { parentPort, workerData } = builtin<Threads>("The writing thread", "node:worker_threads");
const disk = new Disk(nodeFs(), workerData);

/** Buffers of what was read: they move to the other thread instead of being copied. */
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
