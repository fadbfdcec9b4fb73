// Derivatives that a function computes itself. jax-js has no `custom_jvp`: it differentiates with arrays that carry a
// tangent, so such a function computes with the values underneath and joins its result with a tangent of its own.
import type { Tensor } from "../core/model.ts";

/** What every array of jax-js is underneath; one that is being differentiated has a value and a tangent. */
interface Tracer {
  readonly _trace: { readonly main: { readonly level: number } };
  readonly primal?: Tensor;
  readonly tangent?: Tensor;
  /** Without traces that only pass it through. */
  fullLower(): Tensor;
}

type MakeTracer = new (trace: Tracer["_trace"], primal: Tensor, tangent: Tensor) => Tensor;

/** Arrays of which the innermost derivative is being taken. */
export interface Differentiated {
  readonly primals: readonly Tensor[];
  /** Undefined for an array that this derivative holds fixed. */
  readonly tangents: readonly (Tensor | undefined)[];
  /** A result of the function, with its tangent, which must be linear in `tangents`. */
  join(primal: Tensor, tangent: Tensor): Tensor;
}

/**
 * Consumes the arrays if it returns anything: undefined when no derivative is being taken of them, or something else lies
 * around it (a `vmap`). Plain operations are then right.
 */
export function differentiated(arrays: readonly Tensor[]): Differentiated | undefined {
  const tracers = arrays as unknown as readonly Tracer[];
  const levelOf = ({ _trace: { main } }: Tracer): number => main.level;
  const innermost = Math.max(...tracers.map(levelOf));
  const own = tracers.filter((tracer) => levelOf(tracer) === innermost);
  const [first] = own;
  if (!first || own.some(({ tangent }) => tangent === undefined)) return undefined;
  const isOwn = (tracer: Tracer): boolean => levelOf(tracer) === innermost;
  const Make = (first as object).constructor as MakeTracer;
  return {
    primals: arrays.map((array, i) => lowered(isOwn(tracers[i]!) ? tracers[i]!.primal! : array)),
    tangents: tracers.map((tracer) => (isOwn(tracer) ? tracer.tangent! : undefined)),
    join: (primal, tangent) => new Make(first._trace, primal, tangent),
  };
}

const lowered = (array: Tensor): Tensor => (array as unknown as Tracer).fullLower();
