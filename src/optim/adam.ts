// Adam and AdamW, as in torch.optim: Adam adds weight decay to the gradient, AdamW applies it to the parameter.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Tensor, Tensors } from "../core/model.ts";
import type { Optimizer, TorchLayout } from "../core/optimizer.ts";
import { is } from "../core/options.ts";
import { type CommonOptions, betasCheck, common, commonChecks, torchFlags } from "./common.ts";

/** Options of `adam` and `adamw`. */
export interface AdamOptions extends CommonOptions {
  /** Decay rates of the running means of the gradient and of its square. Default [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
  /** Added to the denominator. Default 1e-8. */
  readonly eps?: number;
}

/**
 * Adam. Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0 (L2; `adamw` decouples it).
 * @example adam({ lr: 3e-4 })
 */
export const adam = /* @__PURE__ */ component(
  {
    kind: "optimizer",
    name: "adam",
    takes: () => ({ options: { ...commonChecks, betas: betasCheck, eps: is.nonNegative } }),
  },
  (options: AdamOptions = {}): Optimizer => {
    const { betas = [0.9, 0.999], eps = 1e-8 } = options;
    return {
      ...common("adam", options, { lr: 1e-3, weightDecay: 0 }),
      constants: { betas, eps },
      torch: torchAdam(false),
      slots: adamSlots,
      hyper: ({ lr, weightDecay }, t) => ({ ...adamScalars(lr, t, betas, eps), weightDecay }),
      leaf(p, g, slots, h) {
        const d = g.add(p.ref.mul(h.weightDecay!.ref));
        return adamStep(p, d, slots, h, betas);
      },
    };
  },
);

/**
 * Adam with decoupled weight decay. Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0.01.
 * @example adamw({ lr: 1e-3, groups: [{ params: "bias", weightDecay: 0 }] })
 */
export const adamw = /* @__PURE__ */ component(
  {
    kind: "optimizer",
    name: "adamw",
    takes: () => ({ options: { ...commonChecks, betas: betasCheck, eps: is.nonNegative } }),
  },
  (options: AdamOptions = {}): Optimizer => {
    const { betas = [0.9, 0.999], eps = 1e-8 } = options;
    return {
      ...common("adamw", options, { lr: 1e-3, weightDecay: 0.01 }),
      constants: { betas, eps },
      torch: torchAdam(true),
      slots: adamSlots,
      hyper: ({ lr, weightDecay }, t) => ({ ...adamScalars(lr, t, betas, eps), keep: 1 - lr * weightDecay }),
      leaf: (p, g, slots, h) => adamStep(p.mul(h.keep!.ref), g, slots, h, betas),
    };
  },
);

const adamSlots = ["exp_avg", "exp_avg_sq"] as const;

const torchAdam = (decoupled: boolean): TorchLayout => ({
  step: true,
  needs: ["betas", "eps"],
  group: { ...torchFlags, amsgrad: false, capturable: false, fused: null, decoupled_weight_decay: decoupled },
});

/**
 * The bias corrections of update `t`, folded into two scalars:
 * lr/c1 · m / (√v/√c2 + eps) = (lr·√c2/c1) · m / (√v + eps·√c2), one division less per element.
 */
function adamScalars(lr: number, t: number, betas: readonly [number, number], eps: number) {
  const root = Math.sqrt(1 - betas[1] ** t);
  return { stepSize: (lr * root) / (1 - betas[0] ** t), eps: eps * root };
}

function adamStep(
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
