// What a call costs: processor time, and how much memory it holds at most. bench/hostile-files.ts measures closely.
import { heapInUse } from "../support/heap.ts";

/** Milliseconds of a processor that no honest file takes on any machine. A bomb takes many times as much. */
const TOO_MUCH = 5000;

/** Whether a call takes too much time. Processor time does not count what other programs take. */
export function takesTooLong(call: () => void): boolean {
  const before = process.cpuUsage();
  call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 > TOO_MUCH;
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
