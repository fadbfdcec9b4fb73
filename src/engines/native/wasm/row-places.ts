// Where a kernel stands in its outer loops: a pointer for every access, at the beginning of the row, and the coordinates.
import type { Access, Kernel } from "../kernel.ts";
import type { Code, Local } from "./code.ts";

const BYTES = 4;

/** What part of the first dimension of a loop is done. */
export interface Range {
  readonly loop: "outer" | "inner";
  readonly begin: Local;
  readonly count: Local;
}

export class RowPlaces {
  readonly #code: Code;
  readonly #range: Range | undefined;
  readonly #bases = new Map<Access, Local>();
  readonly #counters: readonly Local[];

  /** Written before the first row. */
  constructor(code: Code, { values, statements, outer }: Kernel, range: Range | undefined) {
    this.#code = code;
    this.#range = range;
    const accesses = [
      ...values.flatMap((value) => (value.kind === "load" ? [value.from] : [])),
      ...statements.flatMap((statement) => ("to" in statement && statement.to ? [statement.to] : [])),
    ];
    for (const access of accesses) {
      const base = code
        .get(code.address(access.buffer))
        .addBytes(access.offset * BYTES)
        .keep(code.pointer);
      const strides = range && access[range.loop];
      if (strides?.[0] !== undefined) code.advanceBy(base, range!.begin, strides[0] * BYTES);
      this.#bases.set(access, base);
    }
    this.#counters = outer.map(() => code.local("i32"));
  }

  baseOf(access: Access): Local {
    return this.#bases.get(access)!;
  }

  coordinate(axis: number): Local {
    return this.#counters[axis]!;
  }

  /** How many places of a dimension are done, if it is not all of them. */
  countOf(loop: "outer" | "inner", axis: number): Local | undefined {
    return axis === 0 && this.#range?.loop === loop ? this.#range.count : undefined;
  }

  resetOuter(axis: number): void {
    this.reset("outer", axis, this.#counters[axis]!);
  }

  /** A counter begins where the range does. */
  reset(loop: "outer" | "inner", axis: number, counter: Local): void {
    if (this.countOf(loop, axis)) this.#code.get(this.#range!.begin).set(counter);
    else this.#code.i32(0).set(counter);
  }

  advanceOuter(axis: number, steps: number): void {
    for (const [access, pointer] of this.#bases) this.#code.advance(pointer, access.outer[axis]! * steps * BYTES);
    if (steps === 1) this.#code.advance(this.#counters[axis]!, 1);
  }
}
