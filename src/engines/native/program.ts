// A compiled program: its steps with everything found out beforehand, so that running it is calling them in turn.
import { ARRAYS, type EngineMemory } from "./memory.ts";
import type { Products } from "./products.ts";
import { planArena } from "./plan/arena.ts";
import { temporariesInPlace } from "./plan/in-place.ts";
import type { Plan, Step } from "./plan/steps.ts";
import { bindPart, type Part, type Run } from "./threads/parts.ts";
import type { ThreadPool } from "./threads/pool.ts";
import type { Profile } from "./profile.ts";
import { Sharing } from "./threads/sharing.ts";
import { planWork } from "./threads/work.ts";
import { bindKernels, compileKernels } from "./wasm/compile.ts";

/** What programs run on. */
export interface NativeResources {
  readonly memory: EngineMemory;
  readonly products: Products;
  readonly pool: ThreadPool;
  readonly profile: Profile;
}

interface CompiledStep {
  readonly label: string;
  readonly run: Run;
}

export class Program {
  readonly #resources: NativeResources;
  readonly #steps: readonly CompiledStep[];
  /** Where the plan's buffers lie, for all threads to see. */
  readonly #addresses: Float64Array;
  readonly #inputs: readonly (readonly [buffer: number, index: number])[];
  readonly #outputs: readonly (readonly [buffer: number, index: number])[];
  readonly #owned: number[] = [];
  /** Its number where threads share its steps. */
  #member: number | undefined;
  readonly #sharing = new Sharing();

  /** The plan is one for that many threads: all of the resources's, or one. */
  constructor(plan: Plan, resources: NativeResources, threads = resources.pool.threads) {
    this.#resources = resources;
    const bytes = plan.buffers.length * 8;
    this.#addresses = new Float64Array(
      resources.memory.isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes),
    );
    const indexed = (kind: "input" | "output") =>
      plan.buffers.flatMap(({ source }, i) => (source.kind === kind ? [[i, source.index] as const] : []));
    this.#inputs = indexed("input");
    this.#outputs = indexed("output");
    try {
      this.#place(plan);
      this.#steps = this.#compile(plan, threads);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Finds room for what lies between the steps, and for constants. */
  #place(plan: Plan): void {
    const { memory } = this.#resources;
    const arena = planArena(plan, temporariesInPlace(plan));
    const base = this.#own(arena.bytes);
    for (const [buffer, offset] of arena.offsets.entries()) {
      if (offset !== undefined) this.#addresses[buffer] = base + offset;
    }
    for (const [buffer, { source }] of plan.buffers.entries()) {
      if (source.kind !== "constant") continue;
      const at = this.#own(source.data.byteLength);
      memory.bytes(at, source.data.byteLength).set(bytesOf(source.data));
      this.#addresses[buffer] = at;
    }
  }

  /** Computes the outputs, whose memory is given, from the inputs. */
  run(inputs: readonly number[], outputs: readonly number[]): void {
    for (const [buffer, index] of this.#inputs) this.#addresses[buffer] = inputs[index]!;
    for (const [buffer, index] of this.#outputs) this.#addresses[buffer] = outputs[index]!;
    if (this.#member === undefined) {
      this.#runSteps();
      return;
    }
    this.#resources.pool.ask(this.#sharing.withAll);
    const begun = performance.now();
    this.#runSteps();
    this.#sharing.tell(performance.now() - begun);
  }

  #runSteps(): void {
    const { profile } = this.#resources;
    if (profile.isOn) {
      for (const { label, run } of this.#steps) profile.time(label, () => run(this.#addresses));
    } else {
      for (const step of this.#steps) step.run(this.#addresses);
    }
  }

  close(): void {
    if (this.#member !== undefined) this.#resources.pool.forget(this.#member);
    this.#member = undefined;
    for (const at of this.#owned.splice(0)) this.#resources.memory.free(at);
  }

  #own(bytes: number): number {
    const at = this.#resources.memory.allocate(bytes);
    this.#owned.push(at);
    return at;
  }

  #compile({ steps }: Plan, threads: number): CompiledStep[] {
    const { memory, products, pool } = this.#resources;
    const { works, kernels } = planWork(steps, threads, (bytes) => this.#own(bytes));
    const module = compileKernels(kernels, memory);
    const functions = bindKernels(module, memory.memory);
    const bind = (part: Part): Run => bindPart(part, functions, products);
    const divided = works.map((work) => (work && work.parts.length > 1 ? work.parts : undefined));
    if (divided.some(Boolean)) this.#member = pool.join({ parts: divided, module, addresses: this.#addresses });
    return steps.map((step, i): CompiledStep => {
      if (step.kind === "sort" || step.kind === "argsort") {
        const sort: Run = (addresses) => sortRows(memory, step, addresses[step.from]!, addresses[step.to]!);
        return { label: `${step.kind} [${step.rows},${step.length}]`, run: sort };
      }
      const { label, before, parts, after } = works[i]!;
      const share = parts.length > 1 ? [pool.divided(this.#member!, i, parts.map(bind))] : parts.map(bind);
      const runs = [...before.map(bind), ...share, ...after.map(bind)];
      return { label, run: runs.length === 1 ? runs[0]! : (addresses) => runs.forEach((run) => run(addresses)) };
    });
  }
}

const bytesOf = (data: { buffer: ArrayBufferLike; byteOffset: number; byteLength: number }): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

// Sorts rows in the engine's memory, NaN last.

type SortStep = Extract<Step, { kind: "sort" | "argsort" }>;

export function sortRows({ memory }: EngineMemory, step: SortStep, from: number, to: number): void {
  const { length, rows, dtype } = step;
  const source = new ARRAYS[dtype](memory.buffer, from, rows * length);
  const target = step.kind === "sort" ? new ARRAYS[dtype](memory.buffer, to, rows * length) : undefined;
  const order = step.kind === "argsort" ? new Int32Array(memory.buffer, to, rows * length) : undefined;
  for (let row = 0; row < rows; row++) {
    const values = source.subarray(row * length, (row + 1) * length);
    target?.subarray(row * length, (row + 1) * length).set(values.toSorted());
    order?.subarray(row * length, (row + 1) * length).set(orderOf(values));
  }
}

/** Indices in the order of their values; equal ones stay as they are. */
function orderOf(values: ArrayLike<number>): number[] {
  return Array.from({ length: values.length }, (_, i) => i).sort((i, j) => {
    const [a, b] = [values[i]!, values[j]!];
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return a - b;
  });
}
