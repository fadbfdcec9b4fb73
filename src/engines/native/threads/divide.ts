// Divides steps between threads. How depends on shapes and the number of threads alone, so that the same program always
// computes the same bits.
import type { Contraction } from "../plan/contract.ts";
import type { Access, Kernel, KernelValue } from "../kernel.ts";
import { costOf } from "../plan/storage.ts";
import { sizeOf } from "../../../core/arrays.ts";

/** Less than this is done before another thread has heard of it: multiplications of a product, … */
export const WORTH_DIVIDING = 400_000;
/** A product with one row needs each number of the other side once: what it waits for is memory. */
const WORTH_DIVIDING_ROW = 60_000;
/** … and operations of a kernel, as `cost.ts` counts them. */
const WORTH_DIVIDING_KERNEL = 60_000;
/** With fewer rows, a product spends its time on the other side, which each part needs whole. */
const FEW_ROWS = 24;
/** Ranges of numbers side by side are whole cache lines. */
const LINE = 16;
/** How much longer the longest range may be than an even share. */
const UNEVEN = 1.34;

export interface Range {
  readonly begin: number;
  readonly count: number;
}

/** Near-equal ranges, whole units but for the last; undefined when there is too little for that. */
export function rangesOf(length: number, parts: number, unit = 1): Range[] | undefined {
  const units = Math.ceil(length / unit);
  if (units < parts || Math.ceil(units / parts) * parts > units * UNEVEN) return undefined;
  return Array.from({ length: parts }, (_, i) => {
    const begin = Math.floor((units * i) / parts) * unit;
    const end = Math.min(Math.floor((units * (i + 1)) / parts) * unit, length);
    return { begin, count: end - begin };
  });
}

/** A part of a product: a product of its own, with where its sides and its result begin, in elements. */
export interface ProductPart {
  readonly contraction: Contraction;
  readonly left: number;
  readonly right: number;
  readonly out: number;
}

/** Along whatever leaves each part's result side by side. */
export function divideProduct(c: Contraction, parts: number): ProductPart[] | undefined {
  if (parts === 1) return undefined;
  if (c.batch === 1 && c.rows === 1 && c.rightTransposed) return divideRow(c, parts);
  if (c.batch * c.rows * c.columns * c.inner < WORTH_DIVIDING) return undefined;
  const batches = c.batch > 1 ? rangesOf(c.batch, parts) : undefined;
  if (batches) {
    return batches.map(({ begin, count }) => ({
      contraction: { ...c, batch: count },
      left: begin * c.rows * c.inner,
      right: begin * c.inner * c.columns,
      out: begin * c.rows * c.columns,
    }));
  }
  if (c.batch > 1) return undefined;
  return rangesOf(c.rows, parts)?.map(({ begin, count }) => ({
    contraction: { ...c, rows: count, ...(c.leftTransposed && { among: { rows: c.rows, begin } }) },
    left: c.leftTransposed ? 0 : begin * c.inner,
    right: 0,
    out: begin * c.columns,
  }));
}

/** Along the columns, whose numbers lie side by side where the right side is transposed. */
function divideRow(c: Contraction, parts: number): ProductPart[] | undefined {
  if (c.columns * c.inner < WORTH_DIVIDING_ROW) return undefined;
  return rangesOf(c.columns, parts, LINE)?.map(({ begin, count }) => ({
    contraction: { ...c, columns: count },
    left: 0,
    right: begin * c.inner,
    out: begin,
  }));
}

/**
 * Where there are few rows for each part, sums along the inner dimension can be done in so many stretches, which are
 * then added up; 1 when in one.
 */
export function stretchesOf(c: Contraction, parts: number): number {
  const isStraight = c.leftTransposed && !c.rightTransposed && c.batch === 1;
  const sums = c.rows < FEW_ROWS * parts && c.inner % parts === 0 && c.inner / parts >= 16;
  return isStraight && sums && c.rows * c.columns * c.inner >= WORTH_DIVIDING ? parts : 1;
}

export interface DividedKernel {
  readonly kernel: Kernel;
  readonly ranges: readonly Range[];
  /** Buffers that each part adds to for itself: what they come to is combined afterwards. */
  readonly own: readonly number[];
}

export function divideKernel(kernel: Kernel, parts: number): DividedKernel | undefined {
  const own = kernel.statements.flatMap((s) => (s.kind === "accumulate" && s.stretches ? [s.to.buffer] : []));
  // Sums that are added up in stretches always are.
  if (own.length === 0 && (parts === 1 || workOf(kernel) < WORTH_DIVIDING_KERNEL)) return undefined;
  return divideOuter(kernel, parts, own) ?? divideInner(kernel, parts);
}

function divideOuter(kernel: Kernel, parts: number, own: readonly number[]): DividedKernel | undefined {
  const [rows] = kernel.outer;
  const ranges = rows === undefined ? undefined : rangesOf(rows, parts);
  const apart = kernel.statements.every((s) => {
    if (!("to" in s) || !s.to || own.includes(s.to.buffer)) return true;
    return isApart(s.to, kernel, s.inner, "outer");
  });
  if (ranges && apart) return { kernel: { ...kernel, ranged: "outer" }, ranges, own };
  if (own.length > 0) throw new Error(`kernel ${kernel.name} cannot be divided, as its sums are`);
  return undefined;
}

function divideInner(kernel: Kernel, parts: number): DividedKernel | undefined {
  const inner = kernel.statements[0]?.inner ?? [];
  const same = kernel.statements.every((s) => s.kind !== "reduce" && s.inner.join() === inner.join());
  const ranges = same && inner.length > 0 ? rangesOf(inner[0]!, parts, inner.length === 1 ? LINE : 1) : undefined;
  if (!ranges) return undefined;
  const apart = kernel.statements.every((s) => !("to" in s) || !s.to || isApart(s.to, kernel, inner, "inner"));
  return apart ? { kernel: { ...kernel, ranged: "inner" }, ranges, own: [] } : undefined;
}

/** A dimension of a loop: how many places, and how far apart they are in memory. */
export interface Axis {
  readonly stride: number;
  readonly size: number;
}

/** Do places whose first coordinate of this loop differs never share an address? */
function isApart(to: Access, kernel: Kernel, inner: readonly number[], loop: "outer" | "inner"): boolean {
  const along = (strides: readonly number[], sizes: readonly number[]): Axis[] =>
    strides.map((stride, i) => ({ stride: Math.abs(stride), size: sizes[i]! }));
  const [outerAxes, innerAxes] = [along(to.outer, kernel.outer), along(to.inner, inner)];
  const mine = (loop === "outer" ? outerAxes : innerAxes)[0];
  if (!mine) return false;
  // Computed coordinates may take any value.
  const computed = (to.at ?? []).map(({ stride }) => ({ stride, size: Infinity }));
  const others = [...outerAxes, ...innerAxes].filter((axis) => axis !== mine);
  return areApart(mine, [...others, ...computed]);
}

/** Do places whose coordinate along `mine` differs never share an address, wherever they are along the others? */
export function areApart(mine: Axis, others: readonly Axis[]): boolean {
  if (mine.stride === 0) return false;
  const walked = others.filter(({ size }) => size !== 1);
  const isLarger = ({ stride }: Axis): boolean => stride >= mine.stride * mine.size;
  // Between two places of mine there is room for all smaller steps, and larger ones never lead to the place of another.
  const smaller = walked.filter((axis) => !isLarger(axis));
  const span = smaller.reduce((sum, { stride, size }) => sum + (stride === 0 ? 0 : stride * (size - 1)), 0);
  return span < mine.stride && walked.filter(isLarger).every(({ stride }) => stride % (mine.stride * mine.size) === 0);
}

/** How much there is to do, roughly. */
function workOf({ outer, values, statements }: Kernel): number {
  const places = sizeOf(outer) * sizeOf(statements[0]?.inner ?? []);
  const cost = (value: KernelValue): number =>
    value.kind === "map" ? costOf(value.fn) : value.kind === "load" ? 1 : 0;
  return places * values.reduce((sum, value) => sum + cost(value), statements.length);
}
