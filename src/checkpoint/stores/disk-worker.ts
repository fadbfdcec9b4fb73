// The thread that hashes, writes and syncs checkpoints.
import { nodeFs } from "../../platform/durable-files.ts";
import { serve, threadData } from "../../platform/thread.ts";
import { callDisk, Disk, type DiskCall, type DiskOptions } from "./disk.ts";

const disk = new Disk(nodeFs(), threadData() as DiskOptions);

/** Buffers of files that were read: they are transferred to the calling thread, not copied. */
function buffersIn(value: unknown): ArrayBuffer[] {
  if (value instanceof Uint8Array) return [value.buffer as ArrayBuffer];
  const { files } = (value ?? {}) as { files?: Readonly<Record<string, unknown>> };
  return Object.values(files ?? {}).flatMap((file) => (file instanceof Uint8Array ? [file.buffer as ArrayBuffer] : []));
}

serve((call: DiskCall) => callDisk(disk, call), buffersIn);
