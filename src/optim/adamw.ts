// AdamW, as torch.optim.AdamW: weight decay acts on the parameter, not through the gradient.
import type { Optimizer } from "../core/optimizer.ts";
import { checkOptions, is } from "../core/options.ts";
import { type AdamOptions, adamScalars, adamSlots, adamStep } from "./adam-rule.ts";
import { betasCheck, common, commonChecks } from "./common.ts";

/**
 * Adam with decoupled weight decay. Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0.01.
 * @example adamw({ lr: 1e-3, groups: [{ params: "bias", weightDecay: 0 }] })
 */
export function adamw(options: AdamOptions = {}): Optimizer {
  checkOptions("adamw", options, { ...commonChecks, betas: betasCheck, eps: is.nonNegative });
  const { betas = [0.9, 0.999], eps = 1e-8 } = options;
  return {
    ...common("adamw", options, { lr: 1e-3, weightDecay: 0.01 }),
    constants: { betas, eps },
    slots: adamSlots,
    hyper: ({ lr, weightDecay }, t) => ({ ...adamScalars(lr, t, betas, eps), keep: 1 - lr * weightDecay }),
    leaf: (p, g, slots, h) => adamStep(p.mul(h.keep!.ref), g, slots, h, betas),
  };
}
