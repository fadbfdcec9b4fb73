// A compiled program: its steps with everything found out beforehand, so that running it is calling them in turn.
import type { EngineMemory } from "./memory.ts";
import type { Products } from "./matmul/products.ts";
import { planArena } from "./plan/arena.ts";
import type { Plan } from "./plan/steps.ts";
import type { Profile } from "./profile.ts";
import { sortRows } from "./sort.ts";
import { bindPart, type Part, type Run } from "./threads/parts.ts";
import type { Team } from "./threads/team.ts";
import { planWork } from "./threads/work.ts";
import { bindKernels, compileKernels } from "./wasm/compile.ts";

/** What programs run on. */
export interface Machine {
  readonly memory: EngineMemory;
  readonly products: Products;
  readonly team: Team;
  readonly profile: Profile;
}

interface CompiledStep {
  readonly label: string;
  readonly run: Run;
}

export class Program {
  readonly #machine: Machine;
  readonly #steps: readonly CompiledStep[];
  /** Where the plan's buffers lie, for all threads to see. */
  readonly #addresses: Uint32Array;
  readonly #inputs: readonly (readonly [buffer: number, index: number])[];
  readonly #outputs: readonly (readonly [buffer: number, index: number])[];
  readonly #owned: number[] = [];
  #member: number | undefined;

  /** The plan is one for that many threads: all of the machine's, or one. */
  constructor(plan: Plan, machine: Machine, threads = machine.team.threads) {
    this.#machine = machine;
    const bytes = plan.buffers.length * 4;
    this.#addresses = new Uint32Array(machine.memory.isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes));
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
    const { memory } = this.#machine;
    const arena = planArena(plan);
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
    const { profile } = this.#machine;
    if (profile.isOn) {
      for (const { label, run } of this.#steps) profile.time(label, () => run(this.#addresses));
    } else {
      for (const step of this.#steps) step.run(this.#addresses);
    }
  }

  close(): void {
    if (this.#member !== undefined) this.#machine.team.forget(this.#member);
    this.#member = undefined;
    for (const at of this.#owned.splice(0)) this.#machine.memory.free(at);
  }

  #own(bytes: number): number {
    const at = this.#machine.memory.allocate(bytes);
    this.#owned.push(at);
    return at;
  }

  #compile({ steps }: Plan, threads: number): CompiledStep[] {
    const { memory, products, team } = this.#machine;
    const { works, kernels } = planWork(steps, threads, (bytes) => this.#own(bytes));
    const module = compileKernels(kernels, memory.isShared);
    const functions = bindKernels(module, memory.memory);
    const bind = (part: Part): Run => bindPart(part, functions, products);
    const divided = works.map((work) => (work && work.parts.length > 1 ? work.parts : undefined));
    if (divided.some(Boolean)) this.#member = team.join({ parts: divided, module, addresses: this.#addresses });
    return steps.map((step, i): CompiledStep => {
      if (step.kind === "sort" || step.kind === "argsort") {
        const sort: Run = (addresses) => sortRows(memory, step, addresses[step.from]!, addresses[step.to]!);
        return { label: `${step.kind} [${step.rows},${step.length}]`, run: sort };
      }
      const { label, before, parts, after } = works[i]!;
      const share = parts.length > 1 ? [team.divided(this.#member!, i, parts.map(bind))] : parts.map(bind);
      const runs = [...before.map(bind), ...share, ...after.map(bind)];
      return { label, run: runs.length === 1 ? runs[0]! : (addresses) => runs.forEach((run) => run(addresses)) };
    });
  }
}

const bytesOf = (data: { buffer: ArrayBufferLike; byteOffset: number; byteLength: number }): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
