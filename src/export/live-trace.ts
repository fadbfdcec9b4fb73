// What of a trace the outputs need, and which layer each equation belongs to.
import type { TypedArray } from "../core/arrays.ts";
import type { Atom, Equation } from "../engines/lower/trace.ts";
import type { ForwardTrace } from "./capture.ts";

export interface LiveTrace extends Pick<ForwardTrace, "rows" | "outputs" | "single"> {
  readonly equations: readonly Equation[];
  /** The arguments in order: parameters, buffers, fields of the batch. */
  readonly args: readonly Atom[];
  readonly isUsed: (atom: Atom) => boolean;
  readonly constantAt: (atom: Atom) => TypedArray | undefined;
  readonly layerOf: (equation: Equation) => string;
}

export function keepLive({ rows, outputs, single, equations, points, inBinders, constants }: ForwardTrace): LiveTrace {
  const makers = new Map(equations.flatMap((equation) => equation.outBinders.map((atom) => [atom, equation] as const)));
  const used = new Set<Atom>();
  const live = new Set<Equation>();
  for (const { atom } of outputs) visitNeeded(atom, makers, live, (each) => used.add(each));

  // An equation belongs to the first layer whose result needs it.
  const layers = new Map<Equation, string>();
  const claimed = new Set<Equation>();
  for (const { layer, atom } of points) {
    const before = claimed.size;
    visitNeeded(atom, makers, claimed, () => undefined);
    // A set keeps the order in which it was filled.
    for (const equation of [...claimed].slice(before)) layers.set(equation, layer);
  }
  const constantOf = new Map(constants.map((data, i) => [inBinders[i]!, data]));
  return {
    rows,
    outputs,
    single,
    equations: equations.filter((equation) => live.has(equation)),
    args: inBinders.slice(constants.length),
    isUsed: (atom) => used.has(atom),
    constantAt: (atom) => constantOf.get(atom),
    layerOf: (equation) => layers.get(equation) ?? "",
  };
}

/** Adds all equations that `atom` depends on, and reports the atoms on the way. Without recursion: programs are deep. */
function visitNeeded(
  atom: Atom,
  makers: ReadonlyMap<Atom, Equation>,
  found: Set<Equation>,
  report: (atom: Atom) => void,
): void {
  const open = [atom];
  for (let next = open.pop(); next; next = open.pop()) {
    report(next);
    const equation = makers.get(next);
    if (!equation || found.has(equation)) continue;
    found.add(equation);
    open.push(...equation.inputs);
  }
}
