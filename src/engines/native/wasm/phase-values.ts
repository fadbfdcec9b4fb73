// What is known of a phase before any code is written: which values its loop changes, and whether four places fit a vector.
import type { Access, Kernel, KernelValue, Statement } from "../kernel.ts";
import { onlyOneByOne } from "./maps.ts";
import { argsOf, type Phase } from "./phases.ts";

export class PhaseValues {
  readonly phase: Phase;
  readonly #kernel: Kernel;
  readonly #changing = new Map<number, boolean>();

  constructor(kernel: Kernel, phase: Phase) {
    this.#kernel = kernel;
    this.phase = phase;
  }

  get inner(): readonly number[] {
    return this.phase.statements[0]!.statement.inner;
  }

  /** Is that statement one of this phase, so that what it keeps is at hand? */
  has(statement: number): boolean {
    return this.phase.statements.some(({ index }) => index === statement);
  }

  /** Does the value change with the inner loop? */
  varies(index: number): boolean {
    const known = this.#changing.get(index);
    if (known !== undefined) return known;
    const varies = this.#findVaries(this.#kernel.values[index]!);
    this.#changing.set(index, varies);
    return varies;
  }

  /** Values that the inner loop computes, in order. */
  varying(): number[] {
    const found = new Set<number>();
    const visit = (index: number): void => {
      if (found.has(index) || !this.varies(index)) return;
      for (const arg of argsOf(this.#kernel.values[index]!)) visit(arg);
      found.add(index);
    };
    for (const { statement } of this.phase.statements) {
      for (const { value } of targetOf(statement)?.at ?? []) visit(value);
      visit(statement.value);
    }
    return [...found];
  }

  /** Four places at once need numbers that lie side by side, or are the same for all of them. */
  canBeWide(): boolean {
    const last = this.inner.length - 1;
    const writes = this.phase.statements.every(({ statement }) => {
      if (statement.kind === "keep" || statement.kind === "reduce") return true;
      return statement.to.inner[last] === 1 && !(statement.to.at ?? []).some(({ value }) => this.varies(value));
    });
    return writes && this.varying().every((index) => this.#isWide(this.#kernel.values[index]!, last));
  }

  #findVaries(value: KernelValue): boolean {
    switch (value.kind) {
      case "load":
        return (
          value.from.inner.some((stride, axis) => stride !== 0 && this.inner[axis] !== 1) ||
          (value.from.at ?? []).some(({ value: at }) => this.varies(at))
        );
      case "index":
        return value.loop === "inner";
      case "map":
        return value.args.some((arg) => this.varies(arg));
      default:
        return value.kind === "kept";
    }
  }

  #isWide(value: KernelValue, last: number): boolean {
    if (value.kind === "load") {
      const { inner, at = [] } = value.from;
      return (inner[last] === 0 || inner[last] === 1) && !at.some((each) => this.varies(each.value));
    }
    if (value.kind !== "map") return true;
    const shifts = value.fn === "shl" || value.fn === "shr";
    return shifts ? literalOf(this.#kernel, value.args[1]!) !== undefined : !onlyOneByOne(value.fn, value.dtype);
  }
}

/** The number, where a value always is the same one. */
export function literalOf(kernel: Kernel, index: number): number | undefined {
  const value = kernel.values[index]!;
  return value.kind === "literal" ? value.value : undefined;
}

export const targetOf = (statement: Statement): Access | undefined => ("to" in statement ? statement.to : undefined);
