// Numbers in the engine's memory, as typed arrays.
import type { Aval } from "../lower/trace.ts";
import { sizeOf } from "../../core/arrays.ts";
import type { EngineMemory } from "./memory.ts";

/** Truth values are whole numbers that are 0 or 1. */
export const ARRAYS = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array, bool: Int32Array } as const;

/** Good until memory grows: make it anew for every use. */
export function viewOf(
  { memory }: EngineMemory,
  at: number,
  { shape, dtype }: Aval,
): Float32Array | Int32Array | Uint32Array {
  return new ARRAYS[dtype](memory.buffer, at, sizeOf(shape));
}
