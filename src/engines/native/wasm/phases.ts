// Statements of a row that can share one loop: those over the same places, none of which waits for a total of another.
import type { Access, Kernel, KernelValue, Statement } from "../kernel.ts";
import { sameShape } from "../../lower/view.ts";
import { onlyOneByOne } from "./maps.ts";
import { sizeOf } from "../../../core/arrays.ts";

export interface Placed {
  readonly statement: Statement;
  readonly index: number;
}

export interface Phase {
  readonly statements: readonly Placed[];
}

const known = new WeakMap<Kernel, readonly Phase[]>();

export function phasesOf(kernel: Kernel): readonly Phase[] {
  let phases = known.get(kernel);
  if (!phases) known.set(kernel, (phases = findPhases(kernel)));
  return phases;
}

function findPhases(kernel: Kernel): Phase[] {
  const phases: { readonly statements: Placed[]; readonly inner: readonly number[] }[] = [];
  for (const [index, statement] of kernel.statements.entries()) {
    const last = phases.at(-1);
    const waits = (): boolean =>
      last!.statements.some(
        (other) =>
          other.statement.kind === "reduce" && used(statement).some((value) => needs(kernel, value, other.index)),
      );
    if (last && sameShape(last.inner, statement.inner) && !waits()) last.statements.push({ statement, index });
    else phases.push({ statements: [{ statement, index }], inner: statement.inner });
  }
  return phases;
}

/** Statements whose numbers a later phase asks for: those have to be kept for it. */
export function readLater(kernel: Kernel): Set<number> {
  const later = new Set<number>();
  for (const { statements } of phasesOf(kernel)) {
    const here = new Set(statements.map(({ index }) => index));
    const seen = new Set<number>();
    const visit = (value: number): void => {
      if (seen.has(value)) return;
      seen.add(value);
      const described = kernel.values[value]!;
      if (described.kind !== "kept") argsOf(described).forEach(visit);
      else if (here.has(described.statement)) visit(kernel.statements[described.statement]!.value);
      else later.add(described.statement);
    };
    for (const { statement } of statements) used(statement).forEach(visit);
  }
  return later;
}

/** Its value, and the coordinates of where it goes. */
function used(statement: Statement): number[] {
  const to = "to" in statement ? statement.to : undefined;
  return [statement.value, ...(to?.at ?? []).map(({ value }) => value)];
}

/** Does the value depend on what that statement came to? */
function needs(kernel: Kernel, value: number, statement: number, seen = new Set<number>()): boolean {
  if (seen.has(value)) return false;
  seen.add(value);
  const described = kernel.values[value]!;
  if (described.kind === "reduced") return described.statement === statement;
  return argsOf(described).some((arg) => needs(kernel, arg, statement, seen));
}

/** The values that a value is computed of. */
export function argsOf(value: KernelValue): readonly number[] {
  if (value.kind === "map") return value.args;
  return value.kind === "load" ? (value.from.at ?? []).map(({ value: at }) => at) : [];
}

// What is known of a phase before any code is written: which values its loop changes, and whether four places fit a vector.

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

  /** Is that statement one of this phase, so that its values are in locals? */
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

  /** Four places at once need numbers that lie side by side, or one apart as in images that are pooled, or are the same. */
  canBeWide(): boolean {
    const last = this.inner.length - 1;
    const writes = this.phase.statements.every(({ statement }) => {
      if (statement.kind === "keep" || statement.kind === "reduce") return true;
      const isNear = statement.to.inner[last] === 1 || (statement.kind === "store" && statement.to.inner[last] === 2);
      return isNear && !(statement.to.at ?? []).some(({ value }) => this.varies(value));
    });
    return writes && this.varying().every((index) => this.#isWide(this.#kernel.values[index]!));
  }

  /** How far apart the numbers of a load are along the last dimension, or those that an earlier phase has computed. */
  strideOf(value: KernelValue): number {
    const last = this.inner.length - 1;
    if (value.kind === "load") return value.from.inner[last]!;
    const maker = value.kind === "kept" ? this.#kernel.statements[value.statement]! : undefined;
    return maker?.kind === "store" ? maker.to.inner[last]! : 1;
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

  #isWide(value: KernelValue): boolean {
    if (value.kind === "load" || value.kind === "kept") {
      const stride = this.strideOf(value);
      if (stride < 0 || stride > 2) return false;
    }
    if (value.kind === "load") return !(value.from.at ?? []).some((each) => this.varies(each.value));
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

// Where the rows that a kernel keeps lie in its scratch memory.

/** Byte offsets by statement, of those whose rows a later phase asks for; each on a multiple of a vector, and how many bytes there are in all. */
export interface Scratch {
  readonly offsets: ReadonlyMap<number, number>;
  readonly bytes: number;
}

export function scratchOf(kernel: Kernel): Scratch {
  const offsets = new Map<number, number>();
  const later = readLater(kernel);
  let bytes = 0;
  for (const [i, { kind, inner }] of kernel.statements.entries()) {
    if (kind !== "keep" || !later.has(i)) continue;
    offsets.set(i, bytes);
    bytes += Math.ceil(sizeOf(inner) / 4) * 16;
  }
  return { offsets, bytes };
}
