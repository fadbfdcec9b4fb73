// What the store and its writing thread say to each other.
import type { ThreadFailure } from "../platform/thread-failure.ts";
import type { Disk } from "./disk.ts";

export type DiskMethod = "save" | "finish" | "abandon" | "list" | "read" | "load" | "verify" | "remove" | "sweep";

export interface Call {
  readonly id: number;
  readonly method: DiskMethod;
  readonly args: readonly unknown[];
}

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: ThreadFailure };

export function callDisk(disk: Disk, { method, args }: Pick<Call, "method" | "args">): unknown {
  // The client's types tie a method to its arguments; here they have come through a message.
  return (disk[method] as (...args: unknown[]) => unknown).call(disk, ...args);
}
