// The seam between the trainer and whatever computes: pure functions in, compiled programs out.
import type { HostArray, TypedArray } from "../core/arrays.ts";
import type { DeviceMemory } from "../core/loop/session.ts";
import type { MaybePromise, Tensor } from "../core/model.ts";

/** An array that lives with an engine. Only the engine that made it knows what is inside. */
export interface Buffer {
  readonly shape: readonly number[];
  /** `float32`, `int32`, `uint32`, `bool`, … */
  readonly dtype: string;
}

/** What programs take and return: arrays in lists and maps, nested as they come. */
export type Tree<T> = T | readonly Tree<T>[] | { readonly [key: string]: Tree<T> };

/** The same structure with the engine's buffers where the traced function has tensors. */
export type OnEngine<T> = T extends Tensor
  ? Buffer
  : T extends readonly (infer U)[]
    ? readonly OnEngine<U>[]
    : { readonly [K in keyof T]: OnEngine<T[K]> };

export interface JitOptions {
  /** Arguments, by position, whose buffers the program may reuse: they are gone after the call. */
  readonly donate?: readonly number[];
}

/** Where a program stands between its two halves. What it keeps is freed by either of its functions. */
export interface Halfway {
  readonly early: Readonly<Record<string, Tree<Buffer>>>;
  /** The other results. The arguments on which the early ones depend must be the same as before. */
  finish(...args: Tree<Buffer>[]): MaybePromise<Readonly<Record<string, Tree<Buffer>>>>;
  drop(): void;
}

/** What products compute with. Parameters are float32 either way. */
export type Precision = "float32" | "bf16";

/** What runs the programs of a training step, and holds their arrays. */
export interface Engine {
  readonly name: string;
  /** Absent: float32. */
  readonly precision?: Precision;
  /** How many devices compute. Absent: one. */
  readonly devices?: number;
  /** Seconds spent compiling so far, if the engine can separate them from running. */
  readonly compileSeconds?: number;
  /** Seconds since it began to compile, while it does; absent where compiling is part of running. */
  readonly compiling?: number | undefined;
  /** Undefined, or absent, where the engine does not count. */
  readonly memory?: DeviceMemory | undefined;
  /** May a value be read without awaiting? */
  readonly syncRead: boolean;
  /** Is what a program returned in memory already, so that reading a number of it costs next to nothing? Absent: no. */
  readonly readsAtOnce?: boolean;
  put(host: HostArray): Buffer;
  /** Rows of a batch, which an engine with several devices divides between them; absent where there is nothing to divide. */
  putRows?(host: HostArray): Buffer;
  /**
   * What programs take and return by the same name, such as an optimizer's state: an engine with several devices may give
   * each a share of it. Absent where there is nothing to share.
   */
  putShares?(host: HostArray): Buffer;
  read(buffer: Buffer): MaybePromise<TypedArray>;
  /**
   * Fills `into` with the buffer's bytes at once, with no copy in between. False when the buffer has to be `read`;
   * absent where the engine cannot do it.
   */
  readInto?(buffer: Buffer, into: Uint8Array): boolean;
  /**
   * Buffers that are held may be read where they lie, beside programs that run: the function says where the bytes of one
   * are now. What it returns is empty once the bytes have moved: ask again. Undefined when the memory has no room to
   * hold them all for a while; absent where the engine cannot do it.
   */
  lend?(held: readonly Buffer[]): ((buffer: Buffer) => Uint8Array) | undefined;
  /** Compiles a pure jax-js function. Every output is computed when the call (or its promise) returns. */
  jit<A extends Tree<Tensor>[], R extends Tree<Tensor>>(
    fn: (...args: A) => R,
    options?: JitOptions,
  ): (...args: { [K in keyof A]: OnEngine<A[K]> }) => MaybePromise<OnEngine<R>>;
  /**
   * Compiles a function in two halves, for callers that look at the results of these names before the others:
   * what the first half has computed, the second does not compute again. Absent where an engine cannot do it.
   */
  jitCut?(
    fn: (...args: never[]) => Readonly<Record<string, Tree<Tensor>>>,
    names: readonly string[],
  ): (...args: Tree<Buffer>[]) => MaybePromise<Halfway>;
  /** Another buffer with the same numbers, which outlives the first. */
  copy(buffer: Buffer): Buffer;
  free(buffer: Buffer): void;
  close(): Promise<void>;
}

/** Every buffer in a tree, in order. */
export function leaves(tree: Tree<Buffer>, into: Buffer[] = []): Buffer[] {
  if (isBuffer(tree)) into.push(tree);
  else for (const branch of Object.values(tree as Record<string, Tree<Buffer>>)) leaves(branch, into);
  return into;
}

/** The numbers of the leaves of some arguments, among those of all. */
export function leavesOf(args: readonly Tree<Buffer>[], chosen: readonly number[]): number[] {
  let next = 0;
  return args.flatMap((arg, i) => {
    const numbers = leaves(arg).map(() => next++);
    return chosen.includes(i) ? numbers : [];
  });
}

function isBuffer(tree: Tree<Buffer>): tree is Buffer {
  return Array.isArray((tree as Buffer).shape);
}

export function freeAll(engine: Engine, tree: Tree<Buffer>): void {
  for (const buffer of leaves(tree)) engine.free(buffer);
}

/** At the end: frees what is there. A program that failed may have taken some of it. */
export function freeRest(engine: Engine, tree: Tree<Buffer>): void {
  for (const buffer of leaves(tree)) {
    try {
      engine.free(buffer);
    } catch {
      // It is gone already.
    }
  }
}

/** A host copy. */
export async function readBuffer(engine: Engine, buffer: Buffer): Promise<HostArray> {
  return { data: await engine.read(buffer), shape: [...buffer.shape] };
}
