// The native engine: fused loops compiled to wasm, matrix products by onnxruntime, both on one memory.
import { printWarning } from "../../platform/print.ts";
import { sizeOf, type HostArray, type TypedArray } from "../../core/arrays.ts";
import { checkOptions, is } from "../../core/options.ts";
import type { MaybePromise, Tensor } from "../../core/model.ts";
import {
  leaves,
  leavesOf,
  type Buffer,
  type Engine,
  type Halfway,
  type JitOptions,
  type OnEngine,
  type Tree,
} from "../engine.ts";
import { aliveIn, checkedDtype, SharedBuffer, type Block } from "../shared-buffer.ts";
import type { Aval } from "../lower/trace.ts";
import { byShapes } from "../by-shapes.ts";
import { Compiler, type Compiled, type Fn } from "./compiler.ts";
import { EngineMemory, loadAlias, memoryWanted, viewOf } from "./memory.ts";
import { Blas, blasWanted } from "./blas.ts";
import { Products } from "./products.ts";
import { Profile } from "./profile.ts";
import { ThreadPool, threadsWanted } from "./threads/pool.ts";

/** Of what memory there can be: the rest is for what steps and evaluations to come take beyond those so far. */
const PART_TO_LEND = 3 / 4;

/** Where the memory of a buffer is. */
interface NativeBlock extends Block {
  readonly at: number;
  /** The last call that was given it, and whether no other buffer or argument of that call stands for it. */
  call: number;
  alone: boolean;
}

type NativeBuffer = SharedBuffer<NativeBlock>;

/** Options of `NativeEngine`. */
export interface NativeOptions {
  /** How many threads share a step. Default: HOOKLINE_THREADS, else as many as there are cores, at most 8. More than one need koffi. */
  readonly threads?: number;
  /** The most GiB of memory. Default: HOOKLINE_MEMORY, else 4; 16 needs Node 24. */
  readonly memory?: 4 | 16;
  /**
   * Matrix products by a library of the system: `accelerate`, `mkl`, `openblas`, or a path. Default: HOOKLINE_BLAS, else
   * onnxruntime. Needs koffi; `hookline doctor` says which is faster.
   */
  readonly blas?: string;
  /** Receives warnings, such as primitives that cannot be compiled. Default: `console.warn`. */
  readonly warn?: (message: string) => void;
}

/** Training at native speed in Node: programs compiled to wasm, products by onnxruntime. */
export class NativeEngine implements Engine {
  readonly name: string;
  readonly syncRead = true;
  readonly readsAtOnce = true;
  /** Where the time of its programs goes, once that is turned on. */
  readonly profile = new Profile();
  readonly #memory: EngineMemory;
  readonly #products: Products;
  readonly #pool: ThreadPool;
  readonly #compiler: Compiler;
  #calls = 0;

  constructor(options: NativeOptions = {}) {
    checkOptions("NativeEngine", options, {
      threads: is.wholeFrom(1),
      memory: is.positive,
      blas: is.name,
      warn: is.function,
    });
    const { warn = printWarning } = options;
    const { threads, asked } = threadsWanted(options.threads);
    const alias = threads > 1 ? loadAlias() : undefined;
    if (threads > 1 && !alias && asked) {
      warn(`Engine "native": koffi is not installed, so one thread does all. Get it with \`npm install koffi@3.3\`.`);
    }
    this.#memory = new EngineMemory(alias, memoryWanted(options.memory));
    const wanted = blasWanted(options.blas);
    const blas = wanted === undefined ? undefined : new Blas(wanted);
    this.name = blas ? `native with ${blas.name}` : "native";
    this.#products = new Products(this.#memory, blas);
    this.#pool = new ThreadPool(alias ? threads : 1, this.#memory, warn, blas?.name);
    this.#compiler = new Compiler(
      { memory: this.#memory, products: this.#products, pool: this.#pool, profile: this.profile },
      warn,
    );
  }

  /** How many threads share a step. */
  get threads(): number {
    return this.#pool.threads;
  }

  /** By buffers and by what programs keep for themselves. */
  get bytesInUse(): number {
    return this.#memory.bytesInUse;
  }

  get compileSeconds(): number {
    return this.#compiler.seconds;
  }

  put(host: HostArray): Buffer {
    const type = checkedDtype(this.name, host);
    const { data, shape } = host;
    const block = this.#block(sizeOf(shape));
    const target = viewOf(this.#memory, block.at, { shape, dtype: type });
    if (type === "bool") for (let i = 0; i < data.length; i++) target[i] = Number(data[i] !== 0);
    else target.set(data);
    return new SharedBuffer(shape, type, block);
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

  lend(held: readonly Buffer[]): ((buffer: Buffer) => Uint8Array) | undefined {
    const bytes = held.reduce((sum, buffer) => sum + this.#look(buffer).byteLength, 0);
    if (this.#memory.memory.buffer.byteLength + bytes > PART_TO_LEND * this.#memory.most) return undefined;
    return (buffer) => {
      const { buffer: memory, byteOffset, byteLength } = this.#look(buffer);
      return new Uint8Array(memory, byteOffset, byteLength);
    };
  }

  jit<A extends Tree<Tensor>[], R extends Tree<Tensor>>(fn: (...args: A) => R, { donate = [] }: JitOptions = {}) {
    const programFor = byShapes((args) =>
      this.#compiler.compile(fn as Fn, args as readonly Tree<Aval>[], leavesOf(args, donate)),
    );
    return (...args: { [K in keyof A]: OnEngine<A[K]> }): MaybePromise<OnEngine<R>> => {
      const given = args.map((arg) => leaves(arg as Tree<Buffer>));
      const program = programFor(args);
      const made = this.#run(program, given.flat());
      for (const i of donate) for (const buffer of given[i]!) this.free(buffer);
      return program.unflatten(made) as OnEngine<R>;
    };
  }

  jitCut(fn: (...args: never[]) => Readonly<Record<string, Tree<Tensor>>>, names: readonly string[]) {
    const halvesFor = byShapes((args) => this.#compiler.compileCut(fn, args as readonly Tree<Aval>[], names));
    return (...args: Tree<Buffer>[]): Halfway => {
      const { first, early, second } = halvesFor(args);
      const made = this.#run(first, leaves(args));
      const kept = made.splice(early);
      const drop = (): void => {
        for (const buffer of kept.splice(0)) this.free(buffer);
      };
      const finish = (...again: Tree<Buffer>[]): Readonly<Record<string, Tree<Buffer>>> => {
        const rest = this.#run(second, [...leaves(again), ...kept]);
        drop();
        return second.unflatten(rest) as Record<string, Tree<Buffer>>;
      };
      return { early: first.unflatten(made) as Halfway["early"], finish, drop };
    };
  }

  /** What it makes is the caller's to free. */
  #run({ program, outputs, inPlace }: Compiled, inputs: readonly Buffer[]): Buffer[] {
    const call = ++this.#calls;
    const from = inputs.map((input) => {
      const { block } = alive(input);
      // Memory that another buffer or argument stands for as well must stay as it is.
      block.alone = block.users === 1 && block.call !== call;
      block.call = call;
      return block.at;
    });
    const made: NativeBuffer[] = [];
    const overwritten: Buffer[] = [];
    try {
      for (const [i, { shape, dtype }] of outputs.entries()) {
        const given = inputs[inPlace.get(i) ?? -1];
        const taken = given && alive(given).block;
        if (taken?.alone) overwritten.push(given!);
        made.push(new SharedBuffer(shape, dtype, taken?.alone ? taken : this.#block(sizeOf(shape))));
      }
    } catch (error) {
      for (const buffer of made) this.free(buffer);
      throw error;
    }
    try {
      program.run(
        from,
        made.map(({ block }) => block.at),
      );
    } catch (error) {
      // Half of their numbers may be new ones: nobody must take them for what they were.
      for (const buffer of [...made, ...overwritten]) this.free(buffer);
      throw error;
    }
    return made;
  }

  copy(buffer: Buffer): Buffer {
    // Programs never write into what others have too: another name for the same memory is a copy.
    const { shape, dtype, block } = alive(buffer);
    return new SharedBuffer(shape, dtype, block);
  }

  free(buffer: Buffer): void {
    const { block } = alive(buffer);
    (buffer as NativeBuffer).freed = true;
    if (--block.users === 0) this.#memory.free(block.at);
  }

  async close(): Promise<void> {
    await this.#compiler.close();
    await this.#pool.close();
    this.#products.close();
  }

  #block(length: number): NativeBlock {
    return { at: this.#memory.allocate(length * 4), users: 0, call: 0, alone: false };
  }

  #look(buffer: Buffer): ReturnType<typeof viewOf> {
    const { block, ...aval } = alive(buffer);
    return viewOf(this.#memory, block.at, aval);
  }
}

const alive = (buffer: Buffer): NativeBuffer => aliveIn("native", buffer);
