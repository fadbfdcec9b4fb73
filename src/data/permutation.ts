// The order of samples in an epoch: a pure function of the seed and the epoch.
import { Rng } from "./random.ts";

/** The numbers 0 … count-1 in random order, every order equally likely (Fisher-Yates). */
export function permutation(count: number, seed: number, epoch: number): Uint32Array {
  const order = new Uint32Array(count);
  const rng = new Rng(seed, epoch);
  // Inside out: filling and shuffling in one pass.
  for (let i = 0; i < count; i++) {
    const j = rng.int(i + 1);
    order[i] = order[j]!;
    order[j] = i;
  }
  return order;
}
