// What programs of the native engine run on, without the engine around it.
import type { DType, Graph } from "../../src/engines/lower/graph.ts";
import { sizeOf } from "../../src/core/arrays.ts";
import { loadAlias } from "../../src/engines/native/threads/plain.ts";
import { EngineMemory } from "../../src/engines/native/memory.ts";
import { Products } from "../../src/engines/native/matmul/products.ts";
import { planGraph } from "../../src/engines/native/plan/plan.ts";
import { Profile } from "../../src/engines/native/profile.ts";
import { Program, type Machine } from "../../src/engines/native/program.ts";
import { Team } from "../../src/engines/native/threads/team.ts";

const VIEWS = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, bool: Int32Array } as const;

export function nativeMachine(threads = 1): Machine {
  const memory = new EngineMemory(threads > 1 ? loadAlias() : undefined);
  const team = new Team(memory.isShared ? threads : 1, memory, () => {});
  return { memory, products: new Products(memory), team, profile: new Profile() };
}

function read({ memory }: Machine, at: number, dtype: DType, length: number): number[] {
  return Array.from(new VIEWS[dtype](memory.memory.buffer, at, length));
}

function write({ memory }: Machine, data: Float32Array | Int32Array | Uint32Array): number {
  const at = memory.allocate(data.byteLength);
  memory.bytes(at, data.byteLength).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return at;
}

/** Compiles a graph, runs it once, and leaves nothing behind. */
export function runNative(
  machine: Machine,
  graph: Graph,
  inputs: readonly (Float32Array | Int32Array | Uint32Array)[],
): number[][] {
  const program = new Program(planGraph(graph, machine.team.threads), machine);
  const from = inputs.map((data) => write(machine, data));
  const to = graph.outputs.map(({ view }) => machine.memory.allocate(sizeOf(view.shape) * 4));
  try {
    program.run(from, to);
    return graph.outputs.map(({ node, view }, i) => read(machine, to[i]!, node.dtype, sizeOf(view.shape)));
  } finally {
    program.close();
    for (const at of [...from, ...to]) machine.memory.free(at);
  }
}
