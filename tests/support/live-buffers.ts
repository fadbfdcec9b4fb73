// How many buffers jax-js holds on wasm, and how many kernels it has run. It exports no counts: watch its backend.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { init } from "@jax-js/jax";

interface Backend {
  malloc(size: number, data?: Uint8Array): number;
  incRef(slot: number): void;
  decRef(slot: number): void;
  dispatch(...args: unknown[]): unknown;
}

export interface LiveBuffers {
  /** Buffers made since the watch began that are still held. */
  readonly count: number;
  /** Kernels that have run since the watch began. */
  readonly kernels: number;
}

export async function watchBuffers(): Promise<LiveBuffers> {
  await init("wasm");
  const entry = fileURLToPath(import.meta.resolve("@jax-js/jax"));
  const chunk = readdirSync(dirname(entry)).find((name) => /^backend-.*\.js$/.test(name))!;
  const exports = Object.values((await import(pathToFileURL(join(dirname(entry), chunk)).href)) as object);
  const getBackend = exports.find((value) => typeof value === "function" && value.name === "getBackend");
  const backend = (getBackend as (device: string) => Backend)("wasm");
  const { malloc, incRef, decRef, dispatch } = backend;
  let kernels = 0;
  const references = new Map<number, number>();
  const add = (slot: number, by: number): void => {
    const count = (references.get(slot) ?? 0) + by;
    if (count === 0) references.delete(slot);
    else references.set(slot, count);
  };
  Object.assign(backend, {
    malloc(size: number, data?: Uint8Array): number {
      const slot = malloc.call(backend, size, data);
      add(slot, 1);
      return slot;
    },
    incRef(slot: number): void {
      incRef.call(backend, slot);
      add(slot, 1);
    },
    decRef(slot: number): void {
      decRef.call(backend, slot);
      // A buffer from before the watch is none of ours.
      if (references.has(slot)) add(slot, -1);
    },
    dispatch(...args: unknown[]): unknown {
      kernels++;
      return dispatch.apply(backend, args);
    },
  });
  return {
    get count() {
      return references.size;
    },
    get kernels() {
      return kernels;
    },
  };
}
