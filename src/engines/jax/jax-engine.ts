// The jax-js engine: its own jit on wasm or WebGPU. Buffers are jax-js arrays.
import { blockUntilReady, defaultDevice, init, jit, numpy as np, tree, Array as JaxArray } from "@jax-js/jax";
import { type HostArray, type TypedArray } from "../../core/arrays.ts";
import { EngineError } from "../../core/errors.ts";
import type { MaybePromise, Tensor } from "../../core/model.ts";
import type { GpuDevice } from "./gpu-device.ts";
import { isRoutineOnView, writeRoutineInputs } from "./routine-inputs.ts";
import type { Buffer, Engine, JitOptions, OnEngine, Tree } from "../engine.ts";

export type JaxDevice = "wasm" | "webgpu";

/** jax-js takes these typed arrays; the others are widened to the nearest of them. */
function widen(data: TypedArray): Float32Array | Int32Array | Uint32Array {
  if (data instanceof Float32Array || data instanceof Int32Array || data instanceof Uint32Array) return data;
  return data instanceof Float64Array ? new Float32Array(data) : new Int32Array(data);
}

/** The smallest array of a tree, or a first one of a single number: no list is made, since this runs in every step. */
function smallest(tree: Tree<Buffer>, best?: JaxArray): JaxArray | undefined {
  if (tree instanceof JaxArray) return best === undefined || tree.size < best.size ? tree : best;
  const parts = tree as Readonly<Record<string, Tree<Buffer>>>;
  let found = best;
  for (const key in parts) {
    if (found?.size === 1) return found;
    found = smallest(parts[key]!, found);
  }
  return found;
}

function firstArray(tree: Tree<Buffer>): JaxArray | undefined {
  if (tree instanceof JaxArray) return tree;
  const branches = tree as Readonly<Record<string, Tree<Buffer>>>;
  for (const key in branches) {
    const found = firstArray(branches[key]!);
    if (found) return found;
  }
  return undefined;
}

interface Jitted<R> {
  (...args: unknown[]): R;
  dispose(): void;
}

/** Some programs compile only after their inputs to routines have been written to memory. */
function compileAndRun<R>(compiled: Jitted<R>, args: readonly unknown[]): R {
  try {
    return compiled(...args);
  } catch (error) {
    if (!isRoutineOnView(error)) throw error;
    writeRoutineInputs(compiled, args);
    return compiled(...args);
  }
}

export class JaxEngine implements Engine {
  readonly name: JaxDevice;
  readonly syncRead: boolean;
  readonly #compiled: Jitted<unknown>[] = [];
  readonly #gpu: GpuDevice | undefined;

  private constructor(device: JaxDevice, gpu?: GpuDevice) {
    this.name = device;
    this.#gpu = gpu;
    // In a cross-origin isolated page jax-js spreads wasm kernels over workers, and only awaiting sees the result.
    const threaded = typeof SharedArrayBuffer !== "undefined" && typeof Worker !== "undefined";
    this.syncRead = device === "wasm" && !threaded;
  }

  /** On wasm, a program is over when it returns. */
  get readsAtOnce(): boolean {
    return this.syncRead;
  }

  static async create(device: JaxDevice): Promise<JaxEngine> {
    if (device === "webgpu") {
      const { openGpu } = await import("./gpu-device.ts");
      return new JaxEngine(device, await openGpu());
    }
    const ready = await init(device);
    if (!ready.includes(device)) throw new EngineError(`Engine "wasm": this runtime has no WebAssembly.`);
    return new JaxEngine(device);
  }

  /** Needs no waiting: wasm is ready as soon as jax-js is loaded. */
  static onWasm(): JaxEngine {
    return new JaxEngine("wasm");
  }

  /** Of WebGPU, such as "NVIDIA H200". */
  get device(): string | undefined {
    return this.#gpu?.name;
  }

  put(host: HostArray): Buffer {
    // jax-js copies it, wherever it lies; its types know plain buffers alone.
    const data = widen(host.data) as Float32Array<ArrayBuffer>;
    const array = np.array(data, { shape: [...host.shape], device: this.name });
    return host.dtype === "bool" ? array.astype(np.bool) : array;
  }

  read(buffer: Buffer): MaybePromise<TypedArray> {
    const array = (buffer as JaxArray).ref;
    if (this.syncRead) return array.dataSync() as TypedArray;
    const data = array.data() as Promise<TypedArray>;
    return this.#gpu ? this.#gpu.check(data) : data;
  }

  jit<A extends Tree<Tensor>[], R extends Tree<Tensor>>(fn: (...args: A) => R, { donate = [] }: JitOptions = {}) {
    const compiled = jit(fn as (...args: Tree<Tensor>[]) => never) as unknown as Jitted<R>;
    this.#compiled.push(compiled);
    const donated = new Set(donate);
    return (...args: { [K in keyof A]: OnEngine<A[K]> }): MaybePromise<OnEngine<R>> => {
      // Constants that the function makes while it is traced must land on this engine's device.
      defaultDevice(this.name);
      const kept = args.filter((_, i) => !donated.has(i)) as unknown as Tree<Buffer>;
      const witness = firstArray(kept);
      const references = witness?.refCount ?? 0;
      tree.ref(kept as never);
      try {
        return this.#realise(compileAndRun(compiled, args) as unknown as OnEngine<R>);
      } catch (error) {
        // A function that could not be traced has consumed nothing, not even what was meant for it.
        if (witness && witness.refCount > references) tree.dispose(kept as never);
        throw error;
      }
    };
  }

  /**
   * Waits for the outputs. Unrealised operations would chain from step to step and slow each one down;
   * all outputs of a program become real together, so the smallest is enough to read.
   */
  #realise<T>(outputs: T): MaybePromise<T> {
    if (this.#gpu) return this.#realiseOnGpu(outputs, this.#gpu);
    if (!this.syncRead) return blockUntilReady(outputs as never);
    smallest(outputs as Tree<Buffer>)?.ref.dataSync();
    return outputs;
  }

  async #realiseOnGpu<T>(outputs: T, gpu: GpuDevice): Promise<T> {
    try {
      await gpu.check(smallest(outputs as Tree<Buffer>)?.blockUntilReady());
      return outputs;
    } catch (error) {
      tree.dispose(outputs as never);
      throw error;
    }
  }

  copy(buffer: Buffer): Buffer {
    // jax-js counts references and never writes into an array: another reference is a copy.
    return (buffer as JaxArray).ref;
  }

  free(buffer: Buffer): void {
    (buffer as JaxArray).dispose();
  }

  /** Frees the constants of the programs. jax-js keeps its backends and its caches for the life of the process. */
  async close(): Promise<void> {
    for (const program of this.#compiled.splice(0)) program.dispose();
  }
}
