// Where the rows that a kernel keeps lie in its scratch memory.
import { sizeOf } from "../../../core/arrays.ts";
import type { Kernel } from "../kernel.ts";
import { readLater } from "./phases.ts";

/** Byte offsets by statement, of those whose rows a later phase asks for; each on a multiple of a vector, and how many bytes there are in all. */
export interface Scratch {
  readonly offsets: ReadonlyMap<number, number>;
  readonly bytes: number;
}

export function scratchOf(kernel: Kernel): Scratch {
  const offsets = new Map<number, number>();
  const later = readLater(kernel);
  let bytes = 0;
  for (const [i, { kind, inner }] of kernel.statements.entries()) {
    if (kind !== "keep" || !later.has(i)) continue;
    offsets.set(i, bytes);
    bytes += Math.ceil(sizeOf(inner) / 4) * 16;
  }
  return { offsets, bytes };
}
