// The gradient of a function, with what else it computed on the way.
//
// jax-js has `hasAux` for this, but it finds the values by the level of the innermost trace, and a derivative taken
// inside the function (a gradient penalty, say) leaves its own trace behind: "Can't lift Tracer level 3 to level 1".
// Here the level is that of the arguments, which nothing inside the function changes.
import { tree, valueAndGrad } from "@jax-js/jax";
import type { Tensor, Tensors } from "../../core/model.ts";

/** What every array of jax-js is underneath; one that is being differentiated has a value and a tangent. */
interface Tracer {
  readonly _trace: { readonly main: { readonly level: number } };
  readonly primal?: Tracer;
  readonly tangent?: Tensor;
  fullLower(): Tracer;
}

/** `fn` returns the scalar to differentiate and anything else; `outer` is an array of the program around it. */
export function gradWithAux<Aux>(
  fn: (at: Tensors) => readonly [Tensor, Aux],
  at: Tensors,
  outer: Tensor,
): { readonly aux: Aux; readonly grads: Tensors } {
  let traced: Aux | undefined;
  const value = (given: Tensors): Tensor => {
    const [scalar, aux] = fn(given);
    traced = aux;
    return scalar;
  };
  const [scalar, grads] = (valueAndGrad(value as never) as unknown as (given: Tensors) => unknown)(at) as [
    Tensor,
    Tensors,
  ];
  scalar.dispose();
  const { level } = outer._trace.main;
  const aux = tree.map((x: Tensor) => lowered(x, level), traced as never) as unknown as Aux;
  return { aux, grads };
}

/** The plain value behind an array that is being differentiated. */
function lowered(tracer: Tracer, level: number): Tracer {
  let at = tracer;
  while (at._trace.main.level > level) {
    at.tangent?.dispose();
    at = at.primal ?? at.fullLower();
  }
  return at;
}
