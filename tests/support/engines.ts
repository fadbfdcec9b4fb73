// Engines around the one that is tested: one that must be awaited as WebGPU's must, one that counts what is read, one that keeps its programs.
import { makeJaxpr } from "@jax-js/jax";
import type { Engine, Tensor } from "hookline";
import { freeAll, type Buffer, type Tree } from "../../src/engines/engine.ts";
import { selectEngine } from "../../src/engines/select.ts";
import { testEngine } from "../../src/testing/tiny.ts";

/** The engine with some of its methods changed. */
export const around = (inner: Engine, changes: Partial<Engine>): Engine => ({
  name: inner.name,
  syncRead: inner.syncRead,
  put: (host) => inner.put(host),
  read: (buffer) => inner.read(buffer),
  jit: (fn, options) => inner.jit(fn, options),
  copy: (buffer) => inner.copy(buffer),
  free: (buffer) => inner.free(buffer),
  close: () => inner.close(),
  ...changes,
});

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Nothing can be read without awaiting, and every program takes its time. */
export async function asyncEngine(): Promise<Engine> {
  const inner = await selectEngine(testEngine());
  return around(inner, {
    syncRead: false,
    async read(buffer) {
      // What is freed meanwhile is still read, as on WebGPU.
      const held = inner.copy(buffer);
      await later();
      const data = await inner.read(held);
      inner.free(held);
      return data;
    },
    jit(fn, options) {
      const program = inner.jit(fn, options);
      return async (...args) => {
        const out = await program(...args);
        await later();
        return out;
      };
    },
  });
}

/** Counts how often something is read back from it. */
export async function countingEngine(): Promise<{ readonly engine: Engine; reads(): number }> {
  const inner = await selectEngine(testEngine());
  let count = 0;
  const engine = around(inner, {
    read(buffer) {
      count++;
      return inner.read(buffer);
    },
  });
  return { engine, reads: () => count };
}

/** The programs as text, in the order of their first calls. */
export async function recordingEngine(): Promise<{ readonly engine: Engine; readonly programs: string[] }> {
  const inner = await selectEngine(testEngine());
  const programs: string[] = [];
  const engine = around(inner, {
    jit(fn, options) {
      const program = inner.jit(fn, options);
      let known = false;
      return (...args) => {
        const trace = makeJaxpr(fn as (...args: Tree<Tensor>[]) => never);
        if (!known) programs.push(trace(...(args as unknown as Tree<Tensor>[])).jaxpr.toString());
        known = true;
        return program(...args);
      };
    },
  });
  return { engine, programs };
}

/** Fails in the middle of the `at`-th program that may reuse its inputs: they are gone, as after a lost device. */
export async function failingEngine(at: number): Promise<Engine> {
  const inner = await selectEngine(testEngine());
  let calls = 0;
  const jit: Engine["jit"] = (fn, options = {}) => {
    const compiled = inner.jit(fn, options);
    return (...args) => {
      const donated = args.filter((_, i) => options.donate?.includes(i)) as Tree<Buffer>[];
      if (donated.length === 0 || ++calls !== at) return compiled(...args);
      freeAll(inner, donated);
      throw new Error("the device is gone");
    };
  };
  return around(inner, { jit });
}
