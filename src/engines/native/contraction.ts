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
}

/** A compiled contraction. Addresses are in bytes of the engine's memory. */
export interface CompiledContraction {
  run(left: number, right: number, out: number): void;
}

export const describeContraction = (c: Contraction): string =>
  `${c.batch}×${c.rows}×${c.inner}×${c.columns}${c.leftTransposed ? "t" : "n"}${c.rightTransposed ? "t" : "n"}`;
