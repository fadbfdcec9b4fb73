// Statements of a row that can share one loop: those over the same places, none of which waits for a total of another.
import type { Kernel, Statement } from "../kernel.ts";

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
  const at = described.kind === "load" ? (described.from.at ?? []) : [];
  const args = described.kind === "map" ? described.args : at.map((each) => each.value);
  return args.some((arg) => needs(kernel, arg, statement, seen));
}
