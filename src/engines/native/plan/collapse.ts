// Makes a kernel's loops few and long: dimensions of one go, and those that follow each other without a gap become one.
import type { Access, Kernel, KernelValue, Statement } from "../kernel.ts";

type Loop = "outer" | "inner";

export function collapse(kernel: Kernel): Kernel {
  let at = dropOnes(kernel);
  at = mergeWithin(at, "outer");
  at = mergeWithin(at, "inner");
  while (canExtendInner(at)) at = mergeWithin(extendInner(at), "inner");
  return isShort(at) ? exchange(at) : at;
}

/** Rows of fewer places are hardly begun when they are over. */
const SHORT_ROW = 16;

/**
 * Could its rows just as well be longer? Only stores may be done in another order. Rows that are read and written in
 * vectors stay as they are.
 */
function isShort(kernel: Kernel): boolean {
  const [rows, inner] = [kernel.outer.at(-1), innerOf(kernel)];
  if (rows === undefined || inner.length !== 1 || inner[0]! >= SHORT_ROW || rows < 2 * inner[0]!) return false;
  const isFree = kernel.statements.every((s) => s.kind === "store" && !s.to.at);
  return isFree && accessesOf(kernel).some((access) => access.inner[0]! < 0 || access.inner[0]! > 2);
}

/** The last outer loop and the inner one trade places. */
function exchange(kernel: Kernel): Kernel {
  const axis = kernel.outer.length - 1;
  return rewrite(kernel, {
    outer: kernel.outer.with(axis, innerOf(kernel)[0]!),
    inner: [kernel.outer[axis]!],
    access: (access) => ({
      ...access,
      outer: access.outer.with(axis, access.inner[0]!),
      inner: [access.outer[axis]!],
    }),
    index(loop, i) {
      if (loop === "inner") return { loop: "outer", axis };
      return i === axis ? { loop: "inner", axis: 0 } : { loop, axis: i };
    },
  });
}

const innerOf = (kernel: Kernel): readonly number[] => kernel.statements[0]?.inner ?? [];

function accessesOf({ values, statements }: Kernel): Access[] {
  return [
    ...values.flatMap((value) => (value.kind === "load" ? [value.from] : [])),
    ...statements.flatMap((statement) => ("to" in statement && statement.to ? [statement.to] : [])),
  ];
}

/** Rewrites every access, coordinate and loop of a kernel. */
function rewrite(
  kernel: Kernel,
  change: {
    outer: readonly number[];
    inner: readonly number[];
    access: (access: Access, isRow: boolean) => Access;
    index: (loop: Loop, axis: number) => { loop: Loop; axis: number } | undefined;
  },
): Kernel {
  const values = kernel.values.map((value): KernelValue => {
    if (value.kind === "load") return { ...value, from: change.access(value.from, false) };
    if (value.kind !== "index") return value;
    const moved = change.index(value.loop, value.axis);
    return moved ? { ...value, ...moved } : { kind: "literal", value: 0, dtype: value.dtype };
  });
  const statements = kernel.statements.map((statement): Statement => {
    const next = { ...statement, inner: change.inner };
    if (!("to" in next) || !next.to) return next;
    return { ...next, to: change.access(next.to, next.kind === "reduce") };
  });
  return { ...kernel, outer: change.outer, values, statements };
}

function dropOnes(kernel: Kernel): Kernel {
  const inner = innerOf(kernel);
  const kept = (sizes: readonly number[]): number[] => sizes.flatMap((n, i) => (n === 1 ? [] : [i]));
  const axes = { outer: kept(kernel.outer), inner: kept(inner) };
  return rewrite(kernel, {
    outer: axes.outer.map((i) => kernel.outer[i]!),
    inner: axes.inner.map((i) => inner[i]!),
    access: (access, isRow) => ({
      ...access,
      outer: axes.outer.map((i) => access.outer[i]!),
      inner: isRow ? [] : axes.inner.map((i) => access.inner[i]!),
    }),
    index: (loop, axis) => (axes[loop].includes(axis) ? { loop, axis: axes[loop].indexOf(axis) } : undefined),
  });
}

/** Does anything ask for the coordinate of this dimension? */
const isCounted = ({ values }: Kernel, loop: Loop, axis: number): boolean =>
  values.some((value) => value.kind === "index" && value.loop === loop && value.axis === axis);

/**
 * Sums are added up in vectors of four along the last dimension. Where that is no multiple of four, a longer one would be
 * added up otherwise, and whether it can be made longer depends on what else the kernel does.
 */
const keepsOrder = ({ statements }: Kernel, loop: Loop, last: number): boolean =>
  loop === "outer" || last % 4 === 0 || statements.every(({ kind }) => kind !== "reduce");

function mergeWithin(kernel: Kernel, loop: Loop): Kernel {
  const sizes = loop === "outer" ? kernel.outer : innerOf(kernel);
  const axis = sizes.findIndex((_, i) => {
    if (i + 2 === sizes.length && !keepsOrder(kernel, loop, sizes[i + 1]!)) return false;
    if (i + 1 >= sizes.length || isCounted(kernel, loop, i) || isCounted(kernel, loop, i + 1)) return false;
    return accessesOf(kernel).every((access) => {
      const strides = access[loop];
      return strides.length === 0 || strides[i] === strides[i + 1]! * sizes[i + 1]!;
    });
  });
  if (axis < 0) return kernel;
  const merged = sizes.toSpliced(axis, 2, sizes[axis]! * sizes[axis + 1]!);
  const without = (strides: readonly number[]): readonly number[] => strides.toSpliced(axis, 1);
  const next = rewrite(kernel, {
    outer: loop === "outer" ? merged : kernel.outer,
    inner: loop === "inner" ? merged : innerOf(kernel),
    access: (access) => ({ ...access, [loop]: access[loop].length === 0 ? [] : without(access[loop]) }),
    index: (where, i) => ({ loop: where, axis: where === loop && i > axis ? i - 1 : i }),
  });
  return mergeWithin(next, loop);
}

/** Without sums over rows the last outer dimension may as well be an inner one, if that makes one long loop of it. */
function canExtendInner(kernel: Kernel): boolean {
  const axis = kernel.outer.length - 1;
  // Sums in stretches are divided along the outer loop.
  const needsRows = kernel.statements.some((s) => s.kind === "reduce" || s.kind === "keep" || "stretches" in s);
  if (axis < 0 || needsRows) return false;
  const inner = innerOf(kernel);
  if (inner.length === 0) return true;
  if (isCounted(kernel, "outer", axis) || isCounted(kernel, "inner", 0)) return false;
  return accessesOf(kernel).every((access) => access.outer[axis] === access.inner[0]! * inner[0]!);
}

function extendInner(kernel: Kernel): Kernel {
  const axis = kernel.outer.length - 1;
  return rewrite(kernel, {
    outer: kernel.outer.slice(0, axis),
    inner: [kernel.outer[axis]!, ...innerOf(kernel)],
    access: (access) => ({
      ...access,
      outer: access.outer.slice(0, axis),
      inner: [access.outer[axis]!, ...access.inner],
    }),
    index(loop, i) {
      if (loop === "inner") return { loop, axis: i + 1 };
      return i === axis ? { loop: "inner", axis: 0 } : { loop, axis: i };
    },
  });
}
