// A compiled program: its steps with everything found out beforehand, so that running it is calling them in turn.
import type { EngineMemory } from "./memory.ts";
import type { Products } from "./matmul/products.ts";
import { planArena } from "./plan/arena.ts";
import type { Plan, Step } from "./plan/steps.ts";
import { sortRows } from "./sort.ts";
import { compileKernels } from "./wasm/compile.ts";
import { scratchOf } from "./wasm/scratch.ts";

/** Does one step; addresses are by the plan's buffers. */
type Run = (addresses: Int32Array | number[]) => void;

export class Program {
  readonly #memory: EngineMemory;
  readonly #runs: Run[];
  readonly #addresses: number[];
  readonly #inputs: readonly (readonly [buffer: number, index: number])[];
  readonly #outputs: readonly (readonly [buffer: number, index: number])[];
  readonly #owned: number[] = [];

  constructor(plan: Plan, memory: EngineMemory, products: Products) {
    this.#memory = memory;
    this.#addresses = plan.buffers.map(() => 0);
    const indexed = (kind: "input" | "output") =>
      plan.buffers.flatMap(({ source }, buffer) => (source.kind === kind ? [[buffer, source.index] as const] : []));
    this.#inputs = indexed("input");
    this.#outputs = indexed("output");
    try {
      this.#place(plan);
      this.#runs = this.#compile(plan.steps, products);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Finds room for what lies between the steps, and for constants. */
  #place(plan: Plan): void {
    const arena = planArena(plan);
    const base = this.#own(arena.bytes);
    for (const [buffer, offset] of arena.offsets.entries()) {
      if (offset !== undefined) this.#addresses[buffer] = base + offset;
    }
    for (const [buffer, { source }] of plan.buffers.entries()) {
      if (source.kind !== "constant") continue;
      const at = this.#own(source.data.byteLength);
      this.#memory.bytes(at, source.data.byteLength).set(bytesOf(source.data));
      this.#addresses[buffer] = at;
    }
  }

  /** Computes the outputs, whose memory is given, from the inputs. */
  run(inputs: readonly number[], outputs: readonly number[]): void {
    for (const [buffer, index] of this.#inputs) this.#addresses[buffer] = inputs[index]!;
    for (const [buffer, index] of this.#outputs) this.#addresses[buffer] = outputs[index]!;
    for (const run of this.#runs) run(this.#addresses);
  }

  close(): void {
    for (const at of this.#owned.splice(0)) this.#memory.free(at);
  }

  #own(bytes: number): number {
    const at = this.#memory.allocate(bytes);
    this.#owned.push(at);
    return at;
  }

  #compile(steps: readonly Step[], products: Products): Run[] {
    const kernels = steps.flatMap((step) => (step.kind === "kernel" ? [step.kernel] : []));
    const functions = compileKernels(kernels, this.#memory.memory);
    // One row at a time is in work, in one kernel at a time.
    const scratch = this.#own(Math.max(...kernels.map((kernel) => scratchOf(kernel).bytes), 16));
    let next = 0;
    return steps.map((step): Run => {
      if (step.kind === "kernel") {
        const kernel = functions[next++]!;
        const args = [...step.buffers, scratch];
        return (addresses) => {
          for (let i = 0; i < step.buffers.length; i++) args[i] = addresses[step.buffers[i]!]!;
          kernel(...args);
        };
      }
      if (step.kind === "contraction") {
        const product = products.compile(step.contraction);
        return (addresses) => product.run(addresses[step.left]!, addresses[step.right]!, addresses[step.out]!);
      }
      return (addresses) => sortRows(this.#memory, step, addresses[step.from]!, addresses[step.to]!);
    });
  }
}

const bytesOf = (data: { buffer: ArrayBufferLike; byteOffset: number; byteLength: number }): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
