// Marks in a traced program that change no number: engines that compile it read them, and others compute an identity. jax-js
// has no primitive to spare for it, so a mark is a `stop_gradient` several times in a row, which nothing else writes.
import { lax } from "@jax-js/jax";
import type { Tensor } from "../core/model.ts";
import { differentiated } from "./derivatives.ts";

/** How often in a row: the array is stored, so that nothing is computed across it. */
export const STORED = 2;
/** A recomputation begins with the array, or has ended. One more pair for each recomputation around it. */
export const recomputationBegins = (depth: number): number => 3 + 2 * depth;
export const recomputationEnds = (depth: number): number => 4 + 2 * depth;

/** The same array with a mark. */
export function marked(x: Tensor, times: number): Tensor {
  // Its derivatives go past the mark.
  const open = differentiated([x]);
  if (open) return open.join(marked(open.primals[0]!, times), open.tangents[0]!);
  let at = x;
  for (let i = 0; i < times; i++) at = lax.stopGradient(at);
  return at;
}

/** What an engine can do that compiles traced programs. */
export interface Lowering {
  /** It has convolutions of its own, faster than the product that a layer would make of one. */
  readonly convolves: boolean;
  /** Its memory is large, and only large products keep it busy: a large GPU. */
  readonly isLarge?: boolean;
}

let lowering: Lowering | undefined;

/** The engine that a program is traced for; undefined for jax-js, which reads no marks. */
export const currentLowering = (): Lowering | undefined => lowering;

/** Traces `run` for such an engine. */
export function whileLowering<T>(engine: Lowering, run: () => T): T {
  const outer = lowering;
  lowering = engine;
  try {
    return run();
  } finally {
    lowering = outer;
  }
}
