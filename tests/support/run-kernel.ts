// Runs one compiled kernel on arrays.
import type { DType, MapOp } from "../../src/engines/lower/graph.ts";
import { EngineMemory } from "../../src/engines/native/memory.ts";
import type { Kernel } from "../../src/engines/native/kernel.ts";
import { bindKernels, compileKernels } from "../../src/engines/native/wasm/compile.ts";
import { scratchOf } from "../../src/engines/native/wasm/phases.ts";

export type Numbers = Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** Leaves in the arrays what the kernel left in its buffers. */
export function runKernel(kernel: Kernel, buffers: readonly Numbers[]): void {
  const memory = new EngineMemory();
  const run = bindKernels(compileKernels([kernel], memory), memory.memory)(0);
  const addresses = buffers.map((data) => memory.allocate(data.byteLength));
  const scratch = memory.allocate(scratchOf(kernel).bytes);
  for (const [i, data] of buffers.entries())
    memory.bytes(addresses[i]!, data.byteLength).set(new Uint8Array(data.buffer));
  run(...addresses, scratch);
  for (const [i, data] of buffers.entries()) {
    new Uint8Array(data.buffer).set(memory.bytes(addresses[i]!, data.byteLength));
  }
}

/** One elementwise function of arrays of one length. */
export function runMap(fn: MapOp, dtype: DType, from: readonly DType[], args: readonly Numbers[]): Numbers {
  const { length } = args[0]!;
  const out =
    dtype === "float32"
      ? new Float32Array(length)
      : dtype === "uint32"
        ? new Uint32Array(length)
        : new Int32Array(length);
  const at = (buffer: number) => ({ buffer, offset: 0, outer: [], inner: [1] });
  const kernel: Kernel = {
    name: fn,
    buffers: args.length + 1,
    outer: [],
    values: [
      ...args.map((_, i) => ({ kind: "load" as const, from: at(i), dtype: from[i]! })),
      { kind: "map", fn, args: args.map((_, i) => i), dtype },
    ],
    statements: [{ kind: "store", inner: [length], value: args.length, to: at(args.length) }],
  };
  runKernel(kernel, [...args, out]);
  return out;
}
