// Sums along rows that threads share: each thread adds up a stretch of the rows, and the stretches are combined.
import { sizeOf } from "../../../core/arrays.ts";
import { areApart, type Axis } from "../threads/divide.ts";
import type { Task } from "./tasks.ts";

/** Sums over fewer places are complete before another thread has started on its share. */
const WORTH_STRETCHING = 16_384;

/** The first dimension that is more than one. */
export const firstAxis = (domain: readonly number[]): number =>
  Math.max(
    domain.findIndex((n) => n !== 1),
    0,
  );

/**
 * Whether the task's sums are added up in stretches, one per thread. Only its own shapes decide: the same numbers must
 * come out whatever else is in the kernel.
 */
export function isStretched({ accumulates, domain, node, target }: Task, threads: number): boolean {
  if (threads === 1 || !accumulates || node.dtype === "bool") return false;
  const first = firstAxis(domain);
  // The last dimension is the row itself, which is never divided into stretches.
  const isAlong = first < domain.length - 1 && target.strides[first] === 0 && domain[first]! % threads === 0;
  const places = sizeOf(domain);
  return isAlong && places >= WORTH_STRETCHING && places >= 4 * threads * sizeOf(node.shape);
}

/**
 * Can these tasks share a kernel when some of them are added up in stretches? Such a kernel is always divided along its
 * first dimension, so every other task must write to different places there.
 */
export function canShareRows(tasks: readonly Task[], threads: number): boolean {
  const stretched = tasks.map((task) => isStretched(task, threads));
  return !stretched.includes(true) || tasks.every((task, i) => stretched[i] || isApartAlongFirst(task));
}

function isApartAlongFirst({ domain, target, computed = [] }: Task): boolean {
  const first = firstAxis(domain);
  const axes = target.strides.map((stride, i): Axis => ({ stride: Math.abs(stride), size: domain[i]! }));
  const mine = axes[first];
  const others = [...axes.filter((axis) => axis !== mine), ...computed.map((stride) => ({ stride, size: Infinity }))];
  return mine !== undefined && areApart(mine, others);
}
