// The update that Adam and AdamW share once the gradient and the parameter have had their weight decay.
import { numpy as np } from "@jax-js/jax";
import type { Tensor, Tensors } from "../core/model.ts";
import type { CommonOptions } from "./common.ts";

/** Options of `adam` and `adamw`. */
export interface AdamOptions extends CommonOptions {
  /** Decay rates of the running means of the gradient and of its square. Default [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
  /** Added to the denominator. Default 1e-8. */
  readonly eps?: number;
}

export const adamSlots = ["exp_avg", "exp_avg_sq"] as const;

/**
 * The bias corrections of update `t`, folded into two scalars:
 * lr/c1 · m / (√v/√c2 + eps) = (lr·√c2/c1) · m / (√v + eps·√c2), one division less per element.
 */
export function adamScalars(lr: number, t: number, betas: readonly [number, number], eps: number) {
  const root = Math.sqrt(1 - betas[1] ** t);
  return { stepSize: (lr * root) / (1 - betas[0] ** t), eps: eps * root };
}

export function adamStep(
  p: Tensor,
  g: Tensor,
  slots: Tensors,
  h: Tensors,
  [beta1, beta2]: readonly [number, number],
): [p: Tensor, slots: Tensors] {
  const mean = slots.exp_avg!.mul(beta1).add(g.ref.mul(1 - beta1));
  const square = slots.exp_avg_sq!.mul(beta2).add(g.ref.mul(g).mul(1 - beta2));
  const step = mean.ref.div(np.sqrt(square.ref).add(h.eps!.ref));
  return [p.sub(step.mul(h.stepSize!.ref)), { exp_avg: mean, exp_avg_sq: square }];
}
