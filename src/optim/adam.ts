// Adam, as torch.optim.Adam: weight decay is added to the gradient.
import type { Optimizer } from "../core/optimizer.ts";
import { checkOptions, is } from "../core/options.ts";
import { type AdamOptions, adamScalars, adamSlots, adamStep } from "./adam-rule.ts";
import { betasCheck, common, commonChecks } from "./common.ts";

/**
 * Adam. Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8, weightDecay 0 (L2; `adamw` decouples it).
 * @example adam({ lr: 3e-4 })
 */
export function adam(options: AdamOptions = {}): Optimizer {
  checkOptions("adam", options, { ...commonChecks, betas: betasCheck, eps: is.nonNegative });
  const { betas = [0.9, 0.999], eps = 1e-8 } = options;
  return {
    ...common("adam", options, { lr: 1e-3, weightDecay: 0 }),
    constants: { betas, eps },
    slots: adamSlots,
    hyper: ({ lr, weightDecay }, t) => ({ ...adamScalars(lr, t, betas, eps), weightDecay }),
    leaf(p, g, slots, h) {
      const d = g.add(p.ref.mul(h.weightDecay!.ref));
      return adamStep(p, d, slots, h, betas);
    },
  };
}
