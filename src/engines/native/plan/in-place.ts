// What may lie where something else lies: what a kernel computes place by place, when nothing reads the other afterwards.
// For outputs and inputs that the caller gives up, an optimizer's update needs no second set of parameters and slots.
import { sizeOf } from "../../../core/arrays.ts";
import { sameShape } from "../../lower/view.ts";
import type { Access, Kernel, KernelValue } from "../kernel.ts";
import { argsOf, type Phase, phasesOf } from "../wasm/phases.ts";
import { touched } from "./arena.ts";
import type { Plan, Step } from "./steps.ts";

/** By output, the input whose memory it may take; no input is taken twice. `given` are the inputs that may be overwritten. */
export function outputsInPlace({ buffers, steps }: Plan, given: ReadonlySet<number>): Map<number, number> {
  const uses = usesOf(steps);
  const free = new Set<number>();
  for (const [buffer, { source }] of buffers.entries()) {
    if (source.kind === "input" && given.has(source.index)) free.add(buffer);
  }
  const places = new Map<number, number>();
  for (const [output, { source, length }] of buffers.entries()) {
    if (source.kind !== "output" || length === 0) continue;
    const [first] = uses.get(output) ?? [];
    const step = first === undefined ? undefined : steps[first];
    if (step?.kind !== "kernel") continue;
    const found = step.buffers.find(
      (input) =>
        free.has(input) &&
        buffers[input]!.length === length &&
        uses.get(input)!.at(-1) === first &&
        isPlaceByPlace(step.kernel, step.buffers.indexOf(output), step.buffers.indexOf(input), length),
    );
    if (found === undefined) continue;
    free.delete(found);
    places.set(source.index, (buffers[found]!.source as { readonly index: number }).index);
  }
  return places;
}

/** By temporary buffer, the one whose place it takes. */
export function temporariesInPlace({ buffers, steps }: Plan): Map<number, number> {
  const uses = usesOf(steps);
  const isTemporary = (buffer: number): boolean => buffers[buffer]!.source.kind === "temporary";
  const places = new Map<number, number>();
  const taken = new Set<number>();
  for (const [i, step] of steps.entries()) {
    if (step.kind !== "kernel") continue;
    const own = step.buffers.filter(isTemporary);
    for (const made of own.filter((buffer) => uses.get(buffer)![0] === i)) {
      const { length } = buffers[made]!;
      const found = own.find(
        (other) =>
          uses.get(other)![0]! < i &&
          uses.get(other)!.at(-1) === i &&
          !taken.has(other) &&
          buffers[other]!.length === length &&
          isPlaceByPlace(step.kernel, step.buffers.indexOf(made), step.buffers.indexOf(other), length),
      );
      if (found === undefined) continue;
      taken.add(found);
      places.set(made, found);
    }
  }
  return places;
}

/** The steps that touch each buffer, in order. */
function usesOf(steps: readonly Step[]): Map<number, number[]> {
  const uses = new Map<number, number[]>();
  for (const [i, step] of steps.entries()) {
    for (const buffer of touched(step)) {
      const known = uses.get(buffer);
      if (!known) uses.set(buffer, [i]);
      else if (known.at(-1) !== i) known.push(i);
    }
  }
  return uses;
}

type Load = Extract<KernelValue, { kind: "load" }>;

/**
 * Is each number of `out` stored at the very place where those of `from` were read for it, and never read there again?
 * At each place of a phase all is loaded before anything is stored; rows and threads have places of their own.
 */
function isPlaceByPlace(kernel: Kernel, out: number, from: number, length: number): boolean {
  const writes = kernel.statements.filter((statement) => "to" in statement && statement.to?.buffer === out);
  const [store] = writes;
  if (writes.length !== 1 || store?.kind !== "store" || store.to.at) return false;
  // Every place has a number of its own: then no two of them are at the same address.
  if (sizeOf(kernel.outer) * sizeOf(store.inner) !== length) return false;
  if (kernel.clear?.some(({ buffer }) => buffer === out || buffer === from)) return false;
  const loads = kernel.values.filter((value) => value.kind === "load" && value.from.buffer === from) as Load[];
  if (loads.length === 0 || !loads.every((load) => !load.from.at && isSame(load.from, store.to))) return false;
  if (kernel.statements.some((statement) => "to" in statement && statement.to?.buffer === from)) return false;
  const phases = phasesOf(kernel);
  const stored = phases.findIndex(({ statements }) => statements.some(({ statement }) => statement === store));
  return phases.every((phase, i) =>
    reads(kernel, phase, from) ? i <= stored && sameShape(innerOf(phase), store.inner) : true,
  );
}

const isSame = (a: Access, b: Access): boolean =>
  a.offset === b.offset && sameShape(a.outer, b.outer) && sameShape(a.inner, b.inner);

const innerOf = ({ statements }: Phase): readonly number[] => statements[0]!.statement.inner;

/** Does the phase load from the buffer? */
function reads(kernel: Kernel, { statements }: Phase, buffer: number): boolean {
  const seen = new Set<number>();
  const visit = (index: number): boolean => {
    if (seen.has(index)) return false;
    seen.add(index);
    const value = kernel.values[index]!;
    return (value.kind === "load" && value.from.buffer === buffer) || argsOf(value).some(visit);
  };
  return statements.some(({ statement }) => {
    const at = "to" in statement ? (statement.to?.at ?? []) : [];
    return [statement.value, ...at.map(({ value }) => value)].some(visit);
  });
}
