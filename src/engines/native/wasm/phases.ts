// Statements of a row that can share one loop: those over the same places, none of which waits for a total of another.
import type { Kernel, KernelValue, Statement } from "../kernel.ts";

export interface Placed {
  readonly statement: Statement;
  readonly index: number;
}

export interface Phase {
  readonly statements: readonly Placed[];
}

export function phasesOf(kernel: Kernel): Phase[] {
  const phases: { statements: Placed[]; inner: string }[] = [];
  for (const [index, statement] of kernel.statements.entries()) {
    const inner = statement.inner.join();
    const last = phases.at(-1);
    const waits = last?.statements.some(
      (other) =>
        other.statement.kind === "reduce" && used(statement).some((value) => needs(kernel, value, other.index)),
    );
    if (last && last.inner === inner && !waits) last.statements.push({ statement, index });
    else phases.push({ statements: [{ statement, index }], inner });
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
