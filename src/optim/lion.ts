// Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms"): steps by the sign of a momentum.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Optimizer } from "../core/optimizer.ts";
import { betasCheck, common, commonChecks, type CommonOptions } from "./common.ts";

/** Options of `lion`. */
export interface LionOptions extends CommonOptions {
  /** Decay rates of the mean of gradients for the step, and of the running mean. Default [0.9, 0.99]. */
  readonly betas?: readonly [number, number];
}

/**
 * Lion. Defaults: lr 1e-4, betas [0.9, 0.99], weightDecay 0 (decoupled). Every element moves by `lr`, so use a rate 3 to 10
 * times lower than for AdamW, and a weight decay higher by the same factor.
 * @example lion({ lr: 1e-4, weightDecay: 0.1 })
 */
export const lion = /* @__PURE__ */ component(
  { kind: "optimizer", name: "lion", takes: () => ({ options: { ...commonChecks, betas: betasCheck } }) },
  (options: LionOptions = {}): Optimizer => {
    const { betas = [0.9, 0.99] } = options;
    const [beta1, beta2] = betas;
    return {
      ...common("lion", options, { lr: 1e-4, weightDecay: 0 }),
      constants: { betas },
      // PyTorch has no Lion; this is the layout of the package lion-pytorch.
      torch: { step: false, needs: ["betas"], group: {} },
      slots: ["exp_avg"],
      hyper: ({ lr, weightDecay }) => ({ lr, keep: 1 - lr * weightDecay }),
      leaf(p, g, slots, h) {
        const old = slots.exp_avg!;
        const direction = np.sign(old.ref.mul(beta1).add(g.ref.mul(1 - beta1)));
        const mean = old.mul(beta2).add(g.mul(1 - beta2));
        return [p.mul(h.keep!.ref).sub(direction.mul(h.lr!.ref)), { exp_avg: mean }];
      },
    };
  },
);
