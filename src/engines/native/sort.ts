// Sorts rows in the engine's memory, NaN last.
import type { EngineMemory } from "./memory.ts";
import type { Step } from "./plan/steps.ts";
import { ARRAYS } from "./views.ts";

type SortStep = Extract<Step, { kind: "sort" | "argsort" }>;

export function sortRows({ memory }: EngineMemory, step: SortStep, from: number, to: number): void {
  const { length, rows, dtype } = step;
  const source = new ARRAYS[dtype](memory.buffer, from, rows * length);
  const target = step.kind === "sort" ? new ARRAYS[dtype](memory.buffer, to, rows * length) : undefined;
  const order = step.kind === "argsort" ? new Int32Array(memory.buffer, to, rows * length) : undefined;
  for (let row = 0; row < rows; row++) {
    const values = source.subarray(row * length, (row + 1) * length);
    target?.subarray(row * length, (row + 1) * length).set(values.toSorted());
    order?.subarray(row * length, (row + 1) * length).set(orderOf(values));
  }
}

/** Indices in the order of their values; equal ones stay as they are. */
function orderOf(values: ArrayLike<number>): number[] {
  return Array.from({ length: values.length }, (_, i) => i).sort((i, j) => {
    const [a, b] = [values[i]!, values[j]!];
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return a - b;
  });
}
