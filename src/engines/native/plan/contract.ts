// Finds the matrix product in a `dot`: which dimensions are batch, rows, columns, and in which order they lie in memory.
import { sizeOf } from "../../../core/arrays.ts";
import { rowMajor, type View } from "../../lower/view.ts";

/** The dimensions of a dot's result by what they are. The summed one is the last of the arguments' views. */
export interface Roles {
  readonly batch: readonly number[];
  readonly rows: readonly number[];
  readonly columns: readonly number[];
}

/** Undefined when a matrix product is no good form for it: nothing to multiply out, or a sum over what repeats. */
export function rolesOf(left: View, right: View): Roles | undefined {
  const rank = left.shape.length - 1;
  const varies = (view: View, axis: number): boolean => view.shape[axis] !== 1 && view.strides[axis] !== 0;
  if (left.shape[rank] !== 1 && !(varies(left, rank) && varies(right, rank))) return undefined;
  const roles = { batch: [] as number[], rows: [] as number[], columns: [] as number[] };
  for (let axis = 0; axis < rank; axis++) {
    const [l, r] = [varies(left, axis), varies(right, axis)];
    if (l && r) roles.batch.push(axis);
    else if (l) roles.rows.push(axis);
    else if (r) roles.columns.push(axis);
    else if (left.shape[axis] !== 1) return undefined;
  }
  return roles;
}

/** Axes from the largest stride to the smallest: the order in which they lie in memory. */
export const byStride = (axes: readonly number[], view: View): number[] =>
  [...axes].sort((a, b) => Math.abs(view.strides[b]!) - Math.abs(view.strides[a]!));

/** Do these axes, in this order, lie without a gap from the first number on? */
export function isPacked(view: View, axes: readonly number[]): boolean {
  const strides = rowMajor(axes.map((axis) => view.shape[axis]!));
  return axes.every((axis, i) => view.shape[axis] === 1 || view.strides[axis] === strides[i]);
}

const sizes = (axes: readonly number[], shape: readonly number[]): number => sizeOf(axes.map((axis) => shape[axis]!));

/** How one side lies: as [batch, outer, inner], or with the last two exchanged; undefined when it has to be copied. */
export function lies(
  view: View,
  batch: readonly number[],
  outer: readonly number[],
): "straight" | "transposed" | undefined {
  const inner = view.shape.length - 1;
  if (isPacked(view, [...batch, ...outer, inner])) return "straight";
  return isPacked(view, [...batch, inner, ...outer]) ? "transposed" : undefined;
}

export function contraction(
  shape: readonly number[],
  inner: number,
  { batch, rows, columns }: Roles,
  left: "straight" | "transposed",
  right: "straight" | "transposed",
): Contraction {
  return {
    batch: sizes(batch, shape),
    rows: sizes(rows, shape),
    columns: sizes(columns, shape),
    inner,
    leftTransposed: left === "transposed",
    // Its outer dimension is the columns, and a library takes [inner, columns] as straight.
    rightTransposed: right === "straight",
  };
}

// A contraction in the one form that matrix libraries take: for each batch, rows × columns, with either side transposed.

/** out[batch, rows, columns] = Σ inner: left[batch, rows, inner] × right[batch, inner, columns]; everything is contiguous. */
export interface Contraction {
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  /** The left side lies as [batch, inner, rows]. */
  readonly leftTransposed: boolean;
  /** The right side lies as [batch, columns, inner]. */
  readonly rightTransposed: boolean;
  /** A transposed left side has this many rows; the product is of those from `begin` on. */
  readonly among?: { readonly rows: number; readonly begin: number };
}

/** A compiled contraction. Addresses are in bytes of the engine's memory. */
export interface CompiledContraction {
  run(left: number, right: number, out: number): void;
}

export function describeContraction(c: Contraction): string {
  const among = c.among ? `, rows ${c.among.begin} of ${c.among.rows}` : "";
  return `${c.batch}×${c.rows}×${c.inner}×${c.columns}${c.leftTransposed ? "t" : "n"}${c.rightTransposed ? "t" : "n"}${among}`;
}
