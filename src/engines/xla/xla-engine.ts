// The xla engine: programs as StableHLO, compiled and run by XLA on a GPU through a PJRT plugin.
import { sizeOf, type HostArray, type TypedArray } from "../../core/arrays.ts";
import { EngineError } from "../../core/errors.ts";
import type { DeviceMemory } from "../../core/loop/session.ts";
import type { MaybePromise, Tensor } from "../../core/model.ts";
import { checkOptions, is } from "../../core/options.ts";
import { printWarning } from "../../platform/print.ts";
import { koffiHasLargeStack, koffiOrNone } from "../../platform/koffi.ts";
import { byShapes } from "../by-shapes.ts";
import {
  leaves,
  leavesOf,
  type Buffer,
  type Engine,
  type Halfway,
  type JitOptions,
  type OnEngine,
  type Precision,
  type Tree,
} from "../engine.ts";
import { aliveIn, checkedDtype, SharedBuffer, type Block } from "../shared-buffer.ts";
import type { DType } from "../lower/graph.ts";
import type { Aval } from "../lower/trace.ts";
import { ProgramCache } from "./cache/program-cache.ts";
import { Compiler, type Compiled, type Cut, type Fn } from "./compiler.ts";
import { withMemoryUse, type MemoryUse } from "./out-of-memory.ts";
import { PjrtApi } from "./pjrt/api.ts";
import { PjrtClient } from "./pjrt/client.ts";
import { findPlugin, preload } from "./pjrt/find-plugin.ts";
import type { XlaFlags } from "./pjrt/options.ts";
import { place, placeRows, placeShares, readPlaced, remove, type Division, type Placed } from "./placement.ts";

/** Options of `XlaEngine`. */
export interface XlaOptions {
  /** The numbers that products compute with (default "float32"); "bf16" keeps parameters and the optimizer in float32. */
  readonly precision?: Precision;
  /** The same bits in every run (default true). Without it, XLA tries kernels and takes the fastest, and cuDNN computes attention in bf16. */
  readonly deterministic?: boolean;
  /** Keeps compiled programs on disk for other processes (default true), in `HOOKLINE_CACHE` or the user's cache directory. */
  readonly cache?: boolean;
  /**
   * How many devices to train on (default 1), such as the GPUs of this machine. Each computes its share of a batch's rows,
   * XLA adds up what belongs together, and the numbers are those of one device to rounding.
   */
  readonly devices?: number;
  /** Receives warnings, such as a damaged program in the cache. Default: `console.warn`. */
  readonly warn?: (message: string) => void;
}

/** Where the memory of a buffer is. */
interface XlaBlock extends Block, Placed {
  /** The last call that it was an argument of. */
  call: number;
}

type XlaBuffer = SharedBuffer<XlaBlock>;

const GET_PLUGIN = `Install one with \`pip install "jax[cuda13]"\` (or "jax[cuda12]"; Python is not needed at run time), or name its file in HOOKLINE_PJRT_PLUGIN.`;

/** Training on a GPU in Node at XLA's speed. */
export class XlaEngine implements Engine {
  readonly name = "xla";
  readonly syncRead = true;
  readonly precision: Precision;
  readonly #client: PjrtClient;
  readonly #compiler: Compiler;
  /** What has not been freed: a client must not end before its buffers. */
  readonly #blocks = new Set<XlaBlock>();
  #calls = 0;
  /** The program that was started last. */
  #last: Compiled | undefined;
  #isClosed = false;

  constructor(options: XlaOptions = {}) {
    checkOptions("XlaEngine", options, {
      precision: is.oneOf("float32", "bf16"),
      deterministic: is.boolean,
      cache: is.boolean,
      devices: is.wholeFrom(1),
      warn: is.function,
    });
    const { precision = "float32", deterministic = true, cache = true, devices = 1, warn = printWarning } = options;
    this.precision = precision;
    const koffi = koffiOrNone();
    if (!koffi) {
      throw new EngineError(
        `Engine "xla" calls XLA through koffi, which is not there. Get it with \`npm install koffi@3.3\`.`,
      );
    }
    if (!koffiHasLargeStack()) {
      throw new EngineError(
        `Engine "xla": koffi was in use before the engine started, and its stacks are too small for XLA. Create the engine first, or call koffi.config({ sync_stack_size: 2 ** 24, async_stack_size: 2 ** 24 }) before you load a library.`,
      );
    }
    const plugin = findPlugin();
    if (!plugin) throw new EngineError(`Engine "xla" finds no PJRT plugin. ${GET_PLUGIN}`);
    preload(koffi, plugin.libraries);
    this.#client = new PjrtClient(new PjrtApi(koffi, plugin.path), plugin.options, devices);
    const isGpu = /cuda|rocm|gpu/i.test(this.#client.platform);
    const flags: XlaFlags = isGpu ? flagsFor(precision, deterministic) : {};
    // With deterministic kernels asked for, XLA 0.11 ends the process while it compiles some of cuDNN's attentions.
    // It would compute the whole batch on each of several devices: XLA does not know how to divide a call.
    const cudnnAttention = !deterministic && devices === 1 && /cuda/i.test(this.#client.platform);
    this.#compiler = new Compiler(this.#client, {
      precision,
      flags,
      cudnnAttention,
      warn,
      cache: cache ? new ProgramCache(this.#client, warn) : undefined,
    });
  }

  /** Such as "NVIDIA H200". */
  get device(): string {
    return this.#client.deviceKind;
  }

  get compileSeconds(): number {
    return this.#compiler.seconds;
  }

  get compiling(): number | undefined {
    return this.#compiler.compiling;
  }

  /** Undefined where the plugin does not count. */
  get memory(): DeviceMemory | undefined {
    return this.#client.memory();
  }

  /** How many it trains on. */
  get devices(): number {
    return this.#client.devices;
  }

  put(host: HostArray): Buffer {
    return this.#put(host, place);
  }

  putRows(host: HostArray): Buffer {
    return this.#put(host, placeRows);
  }

  putShares(host: HostArray): Buffer {
    return this.#put(host, placeShares);
  }

  #put(host: HostArray, put: typeof place): Buffer {
    const type = checkedDtype(this.name, host);
    const { data, shape } = host;
    const placed = this.#explained(
      () => put(this.#client, data, shape, type),
      () => [{ name: "the array", buffer: { shape } }],
    );
    return this.#buffer(shape, type, placed);
  }

  read(buffer: Buffer): TypedArray {
    const { shape, dtype, block } = alive(buffer);
    return this.#explained(() => readPlaced(this.#client, block, shape, dtype));
  }

  readInto(buffer: Buffer, into: Uint8Array): boolean {
    const { shape, dtype, block } = alive(buffer);
    // Bools are bytes on the device, but not here; and what others may write to has no address that lasts.
    if (dtype === "bool" || block.division || into.buffer instanceof SharedArrayBuffer) return false;
    if (into.byteLength !== sizeOf(shape) * 4) {
      throw new RangeError(`${into.byteLength} bytes were asked for of an array of ${sizeOf(shape) * 4}`);
    }
    this.#explained(() => this.#client.read(block.handles[0]!, into));
    return true;
  }

  jit<A extends Tree<Tensor>[], R extends Tree<Tensor>>(fn: (...args: A) => R, { donate = [] }: JitOptions = {}) {
    const programFor = this.#resolved(
      byShapes(
        (args) => this.#compiler.compile(fn as Fn, args as Tree<Aval>[], leavesOf(args, donate), divisionsIn(args)),
        placeOf,
      ),
      donate,
    );
    return (...args: { [K in keyof A]: OnEngine<A[K]> }): MaybePromise<OnEngine<R>> =>
      programFor(args as Tree<Buffer>[], (compiled, given) => {
        const made = this.#run(compiled, given.flat());
        for (const i of donate) for (const buffer of given[i]!) this.free(buffer);
        return compiled.unflatten(made) as OnEngine<R>;
      });
  }

  jitCut(fn: (...args: never[]) => Readonly<Record<string, Tree<Tensor>>>, names: readonly string[]) {
    const halvesFor = this.#resolved(
      byShapes((args) => this.#compiler.compileCut(fn, args as Tree<Aval>[], names, divisionsIn(args)), placeOf),
    );
    return (...args: Tree<Buffer>[]): MaybePromise<Halfway> =>
      halvesFor(args, ({ first, early, second }: Cut, given) => {
        const made = this.#run(first, given.flat());
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
      });
  }

  /** Calls `use` with what was compiled and the arguments: at once if it is ready, so that a step costs no turn of the event loop. */
  #resolved<T>(promiseFor: (args: readonly Tree<Buffer>[]) => Promise<T>, donate: readonly number[] = []) {
    const ready = new WeakMap<Promise<T>, T>();
    return <R>(args: readonly Tree<Buffer>[], use: (value: T, given: readonly Buffer[][]) => R): MaybePromise<R> => {
      const promise = promiseFor(args);
      const given = args.map((arg) => leaves(arg));
      const value = ready.get(promise);
      if (value !== undefined) return use(value, given);
      // Until this is compiled, others may free what it borrows, or give it to another program.
      const borrowed = given.map((buffers, i) =>
        donate.includes(i) ? [] : buffers.map((buffer) => this.copy(buffer)),
      );
      return promise
        .then((made) => {
          ready.set(promise, made);
          return use(
            made,
            given.map((buffers, i) => (donate.includes(i) ? buffers : borrowed[i]!)),
          );
        })
        .finally(() => borrowed.flat().forEach((buffer) => this.free(buffer)));
    };
  }

  /** What it makes is the caller's to free. */
  #run(compiled: Compiled, inputs: readonly Buffer[]): Buffer[] {
    const { program, outputs, tables, donated, names } = compiled;
    const call = ++this.#calls;
    const handles: Placed["handles"][] = [];
    let twice: Set<XlaBlock> | undefined;
    for (const input of inputs) {
      const { block } = alive(input);
      if (block.call === call) (twice ??= new Set()).add(block);
      block.call = call;
      handles.push(block.handles);
    }
    for (const table of tables) handles.push(table.handles);
    // Memory that another buffer or argument stands for as well must stay as it is.
    const kept = donated.filter((i) => {
      const { block } = inputs[i] as XlaBuffer;
      return block.users > 1 || twice?.has(block);
    });
    this.#last = compiled;
    const made = this.#explained(
      () => program.run(handles, kept),
      () => inputs.map((buffer, i) => ({ name: names[i] || "an array", buffer })),
    );
    return outputs.map(({ shape, dtype, division }, i) => this.#buffer(shape, dtype, { handles: made[i]!, division }));
  }

  /** If the device has no memory left, the error says for what. A program that was started may fail when something is read. */
  #explained<T>(work: () => T, given: () => MemoryUse["given"] = () => []): T {
    try {
      return work();
    } catch (error) {
      throw withMemoryUse(error, () => ({
        device: this.device,
        memory: this.memory,
        program: this.#last?.program.memory(),
        given: given(),
      }));
    }
  }

  #buffer(shape: readonly number[], dtype: DType, { handles, division }: Placed): XlaBuffer {
    const block: XlaBlock = { handles, division, users: 0, call: 0 };
    this.#blocks.add(block);
    return new SharedBuffer(shape, dtype, block);
  }

  copy(buffer: Buffer): Buffer {
    const { shape, dtype, block } = alive(buffer);
    return new SharedBuffer(shape, dtype, block);
  }

  free(buffer: Buffer): void {
    const { block } = alive(buffer);
    (buffer as XlaBuffer).freed = true;
    if (--block.users > 0 || !this.#blocks.delete(block)) return;
    remove(this.#client, block.handles);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { handles } of this.#blocks) remove(this.#client, handles);
    this.#blocks.clear();
    await this.#compiler.close();
    this.#client.close();
  }
}

/**
 * Of Triton's products XLA has many more to try than of cuBLAS's. In bfloat16 the library's are as fast by themselves, take
 * in the sums that follow, and halve the time to compile; small ones in float32 are faster by Triton.
 */
function flagsFor(precision: Precision, deterministic: boolean): XlaFlags {
  if (deterministic) return { xla_gpu_deterministic_ops: true };
  return precision === "bf16" ? { xla_gpu_enable_triton_gemm: false } : {};
}

const placeOf = (buffer: Buffer): string => alive(buffer).block.division ?? "";

/** The leaves that are divided between the devices, by their numbers. */
function divisionsIn(args: readonly Tree<Buffer>[]): Map<number, Division> {
  const all = args.flatMap((arg) => leaves(arg));
  return new Map(
    all.flatMap((buffer, i) => {
      const { division } = alive(buffer).block;
      return division ? [[i, division] as const] : [];
    }),
  );
}

const alive = (buffer: Buffer): XlaBuffer => aliveIn("xla", buffer);
