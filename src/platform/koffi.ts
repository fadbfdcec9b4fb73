// koffi, which calls shared libraries. It is optional, and its settings can only be changed before the first library is
// loaded: so every part of hookline that calls one gets koffi from here.
import { builtinOrNone } from "./builtin.ts";

/** XLA's compiler recurses deeply. Only the pages in use take memory. */
const STACK_BYTES = 16 * 2 ** 20;

export interface KoffiFunction {
  (...args: unknown[]): unknown;
  async(...args: unknown[]): void;
}

export interface KoffiLibrary {
  func(signature: string): KoffiFunction;
  func(name: string, result: string, args: readonly string[]): KoffiFunction;
  symbol(name: string): unknown;
}

export interface Koffi {
  /** `null` is what the process itself has loaded, such as the C library. */
  load(path: string | null, options?: { readonly global?: boolean; readonly lazy?: boolean }): KoffiLibrary;
  address(value: unknown): bigint;
  view(pointer: unknown, length: number): ArrayBuffer;
  proto(signature: string): unknown;
  decode(pointer: unknown, type: unknown): unknown;
  config(settings: { readonly sync_stack_size: number; readonly async_stack_size: number }): unknown;
}

let loaded: { readonly koffi: Koffi; readonly hasLargeStack: boolean } | undefined;

/** Undefined where it is not installed, and outside Node. */
export function koffiOrNone(): Koffi | undefined {
  return load()?.koffi;
}

/** Has native code room for deep recursion? Not if the program has called a library through koffi before. */
export const koffiHasLargeStack = (): boolean => load()?.hasLargeStack ?? false;

function load(): typeof loaded {
  const createRequire = builtinOrNone("node:module")?.createRequire;
  if (loaded || !createRequire) return loaded;
  let koffi: Koffi;
  try {
    const require = createRequire(import.meta.url);
    koffi = require("koffi") as Koffi;
  } catch {
    return undefined;
  }
  let hasLargeStack = true;
  try {
    koffi.config({ sync_stack_size: STACK_BYTES, async_stack_size: STACK_BYTES });
  } catch {
    hasLargeStack = false;
  }
  loaded = { koffi, hasLargeStack };
  return loaded;
}
