// How long a call takes and how much memory it holds at most, where other programs run beside it.
import { heapInUse } from "../support/heap.ts";

/** The fastest of up to five calls in milliseconds; no more calls once one is fast enough. */
export function fastest(enough: number, call: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 5 && best > enough; i++) {
    const start = performance.now();
    call();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

const inUse = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Bytes that a call leaves allocated, garbage included: a bound on what it ever held at once. */
export function peakOf(call: () => void): number {
  call();
  heapInUse();
  const before = inUse();
  call();
  return inUse() - before;
}
