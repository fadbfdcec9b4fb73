// The native engine: fused loops compiled to wasm, matrix products by onnxruntime, both on one memory.
import type { DType as HostDType, HostArray, TypedArray } from "../../core/arrays.ts";
import { EngineError } from "../../core/errors.ts";
import type { MaybePromise } from "../../core/loader.ts";
import type { Tensor } from "../../core/model.ts";
import { leaves, type Buffer, type Engine, type JitOptions, type OnEngine, type Tree } from "../engine.ts";
import type { DType } from "../lower/graph.ts";
import { lower, UnsupportedPrimitive } from "../lower/lower.ts";
import { trace, type Aval } from "../lower/trace.ts";
import { sizeOf } from "../lower/view.ts";
import { EngineMemory } from "./memory.ts";
import { Products } from "./matmul/products.ts";
import { planGraph } from "./plan/plan.ts";
import { Program } from "./program.ts";

const VIEWS = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, bool: Int32Array } as const;

/** Memory that several buffers may stand for. */
interface Block {
  readonly at: number;
  users: number;
}

class NativeBuffer implements Buffer {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly block: Block;
  freed = false;

  constructor(shape: readonly number[], dtype: DType, block: Block) {
    this.shape = shape;
    this.dtype = dtype;
    this.block = block;
    block.users++;
  }
}

/** A program for arguments of certain shapes. */
interface Compiled {
  readonly program: Program;
  readonly outputs: readonly Aval[];
  readonly unflatten: (leaves: readonly unknown[]) => Tree<unknown>;
}

export interface NativeOptions {
  /** Threads of a matrix product. Default: as many as there are cores. */
  readonly threads?: number;
}

export class NativeEngine implements Engine {
  readonly name = "native";
  readonly syncRead = true;
  readonly #memory = new EngineMemory();
  readonly #products: Products;
  readonly #programs: Program[] = [];

  constructor({ threads = 0 }: NativeOptions = {}) {
    this.#products = new Products(this.#memory, threads);
  }

  put({ data, shape, dtype }: HostArray): Buffer {
    const type = typeOf(data, dtype);
    if (data.length !== sizeOf(shape)) {
      throw new EngineError(`Engine "native": ${data.length} numbers do not fill an array of shape [${shape.join(", ")}].`);
    }
    const block = this.#block(sizeOf(shape));
    const target = new VIEWS[type](this.#memory.memory.buffer, block.at, data.length);
    if (type === "bool") for (let i = 0; i < data.length; i++) target[i] = Number(data[i] !== 0);
    else target.set(data);
    return new NativeBuffer(shape, type, block);
  }

  read(buffer: Buffer): TypedArray {
    return this.#look(buffer).slice();
  }

  readInto(buffer: Buffer, into: Uint8Array): boolean {
    const { buffer: memory, byteOffset, byteLength } = this.#look(buffer);
    if (into.byteLength !== byteLength) {
      throw new RangeError(`${into.byteLength} bytes were asked for of an array of ${byteLength}`);
    }
    into.set(new Uint8Array(memory, byteOffset, byteLength));
    return true;
  }

  jit<A extends Tree<Tensor>[], R extends Tree<Tensor>>(fn: (...args: A) => R, { donate = [] }: JitOptions = {}) {
    const compiled = new Map<string, Compiled>();
    const donated = new Set(donate);
    return (...args: { [K in keyof A]: OnEngine<A[K]> }): MaybePromise<OnEngine<R>> => {
      const given = args.map((arg) => leaves(arg as Tree<Buffer>) as NativeBuffer[]);
      const inputs = given.flat().map((input) => alive(input).block.at);
      const key = args.map((arg) => describe(arg as Tree<NativeBuffer>)).join();
      let program = compiled.get(key);
      if (!program) {
        program = this.#compile(fn as never, args as unknown as Tree<Aval>[]);
        compiled.set(key, program);
      }
      const outputs: NativeBuffer[] = [];
      try {
        for (const { shape, dtype } of program.outputs) {
          outputs.push(new NativeBuffer(shape, dtype, this.#block(sizeOf(shape))));
        }
        program.program.run(
          inputs,
          outputs.map(({ block }) => block.at),
        );
      } catch (error) {
        for (const buffer of outputs) this.free(buffer);
        throw error;
      }
      for (const i of donated) for (const buffer of given[i]!) this.free(buffer);
      return program.unflatten(outputs) as OnEngine<R>;
    };
  }

  #compile(fn: (...args: never[]) => unknown, args: readonly Tree<Aval>[]): Compiled {
    const traced = trace(fn, args);
    const graph = lower(traced);
    const program = new Program(planGraph(graph), this.#memory, this.#products);
    this.#programs.push(program);
    return { program, outputs: traced.outs.map(({ aval }) => aval), unflatten: traced.unflatten };
  }

  copy(buffer: Buffer): Buffer {
    // Programs never write into what they are given: another name for the same memory is a copy.
    const { shape, dtype, block } = alive(buffer);
    return new NativeBuffer(shape, dtype, block);
  }

  free(buffer: Buffer): void {
    const { block } = alive(buffer);
    (buffer as NativeBuffer).freed = true;
    if (--block.users === 0) this.#memory.free(block.at);
  }

  async close(): Promise<void> {
    for (const program of this.#programs.splice(0)) program.close();
    this.#products.close();
  }

  #block(length: number): Block {
    return { at: this.#memory.allocate(length * 4), users: 0 };
  }

  #look(buffer: Buffer): Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> {
    const { shape, dtype, block } = alive(buffer);
    return new VIEWS[dtype](this.#memory.memory.buffer, block.at, sizeOf(shape));
  }
}

/** The structure of an argument with the types of its arrays: a program is compiled for it. */
function describe(tree: Tree<NativeBuffer>): string {
  if (tree instanceof NativeBuffer) return `${tree.dtype}[${tree.shape.join()}]`;
  return `{${Object.entries(tree).map(([key, branch]) => `${key}:${describe(branch as Tree<NativeBuffer>)}`).join()}}`;
}

function alive(buffer: Buffer): NativeBuffer {
  if ((buffer as NativeBuffer).freed) throw new EngineError(`Engine "native": a buffer was used after it was freed.`);
  return buffer as NativeBuffer;
}

/** As jax-js has it: other whole numbers become int32, other floats float32. */
function typeOf(data: TypedArray, dtype: HostDType | undefined): DType {
  if (dtype === "bool") return "bool";
  if (data instanceof Float32Array || data instanceof Float64Array) return "float32";
  return data instanceof Uint32Array ? "uint32" : "int32";
}

export { UnsupportedPrimitive };
