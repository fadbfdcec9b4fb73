// Gradient norms and clipping, as pure functions inside a program.
import { numpy as np } from "@jax-js/jax";
import type { Tensor, Tensors } from "../../core/model.ts";

const sum = (terms: readonly Tensor[]): Tensor => terms.reduce((a, b) => a.add(b));

/** L2 norm of each tensor's values together. Consumes nothing. */
export function globalNorm(tensors: Tensors): Tensor {
  return np.sqrt(sum(Object.values(tensors).map((t) => np.square(t.ref).sum())));
}

export interface Clipped {
  readonly grads: Tensors;
  /** Before clipping. */
  readonly norm: Tensor;
  readonly clippedNorm: Tensor;
}

/** Clips by value, then by global norm (PyTorch's coefficient, 1e-6 included); consumes `grads`. */
export function clip(grads: Tensors, limits: { readonly norm?: Tensor; readonly value?: Tensor }): Clipped {
  const norm = globalNorm(grads);
  let clipped = grads;
  let clippedNorm = norm.ref;
  if (limits.value) {
    const { value } = limits;
    clipped = mapTensors(clipped, (g) => np.minimum(np.maximum(g, value.ref.neg()), value.ref));
    clippedNorm = globalNorm(clipped);
  }
  if (limits.norm) {
    const factor = np.minimum(limits.norm.ref.div(clippedNorm.ref.add(1e-6)), 1);
    clipped = mapTensors(clipped, (g) => g.mul(factor.ref));
    clippedNorm = clippedNorm.mul(factor);
  }
  return { grads: clipped, norm, clippedNorm };
}

export function mapTensors(tensors: Tensors, fn: (tensor: Tensor, name: string) => Tensor): Tensors {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, fn(tensor, name)]));
}
