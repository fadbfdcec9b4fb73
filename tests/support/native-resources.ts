// What programs of the native engine run on, without the engine around it.
import type { DType, Graph } from "../../src/engines/lower/graph.ts";
import { sizeOf } from "../../src/core/arrays.ts";
import { EngineMemory, loadAlias, type MostMemory } from "../../src/engines/native/memory.ts";
import { Products } from "../../src/engines/native/products.ts";
import { outputsInPlace } from "../../src/engines/native/plan/in-place.ts";
import { planGraph } from "../../src/engines/native/plan/plan.ts";
import { Profile } from "../../src/engines/native/profile.ts";
import { type NativeResources, Program } from "../../src/engines/native/program.ts";
import { ThreadPool } from "../../src/engines/native/threads/pool.ts";

const VIEWS = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, bool: Int32Array } as const;

export function nativeResources(threads = 1, most?: MostMemory): NativeResources {
  const memory = new EngineMemory(threads > 1 ? loadAlias() : undefined, most);
  const pool = new ThreadPool(memory.isShared ? threads : 1, memory, () => {});
  return { memory, products: new Products(memory), pool, profile: new Profile() };
}

function read({ memory }: NativeResources, at: number, dtype: DType, length: number): number[] {
  return Array.from(new VIEWS[dtype](memory.memory.buffer, at, length));
}

function write({ memory }: NativeResources, data: Float32Array | Int32Array | Uint32Array): number {
  const at = memory.allocate(data.byteLength);
  memory.bytes(at, data.byteLength).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return at;
}

/** Compiles a graph, runs it once, and leaves nothing behind. */
export function runNative(
  resources: NativeResources,
  graph: Graph,
  inputs: readonly (Float32Array | Int32Array | Uint32Array)[],
): number[][] {
  return runWithPlaces(resources, graph, inputs, () => undefined);
}

/** The same with every input given up: outputs lie where inputs did, if they can. Also how many do. */
export function runNativeInPlace(
  resources: NativeResources,
  graph: Graph,
  inputs: readonly (Float32Array | Int32Array | Uint32Array)[],
): { readonly results: number[][]; readonly inPlace: number } {
  const plan = planGraph(graph, resources.pool.threads);
  const places = outputsInPlace(plan, new Set(inputs.keys()));
  return {
    results: runWithPlaces(resources, graph, inputs, (output) => places.get(output)),
    inPlace: places.size,
  };
}

/** `placeOf` is the input where an output lies. */
function runWithPlaces(
  resources: NativeResources,
  graph: Graph,
  inputs: readonly (Float32Array | Int32Array | Uint32Array)[],
  placeOf: (output: number) => number | undefined,
): number[][] {
  const program = new Program(planGraph(graph, resources.pool.threads), resources);
  const from = inputs.map((data) => write(resources, data));
  const own: number[] = [];
  const to = graph.outputs.map(({ view }, i) => {
    const at = from[placeOf(i) ?? -1] ?? resources.memory.allocate(sizeOf(view.shape) * 4);
    if (!from.includes(at)) own.push(at);
    return at;
  });
  try {
    program.run(from, to);
    return graph.outputs.map(({ node, view }, i) => read(resources, to[i]!, node.dtype, sizeOf(view.shape)));
  } finally {
    program.close();
    for (const at of [...from, ...own]) resources.memory.free(at);
  }
}
