// RMSprop, as torch.optim.RMSprop: plain, with momentum, centered.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Tensors } from "../core/model.ts";
import type { Optimizer } from "../core/optimizer.ts";
import { is } from "../core/options.ts";
import { common, commonChecks, type CommonOptions, defaultMomentum, torchFlags } from "./common.ts";

/** Options of `rmsprop`. */
export interface RmspropOptions extends CommonOptions {
  /** Decay rate of the running mean of squares. Default 0.99. */
  readonly alpha?: number;
  /** Added to the denominator. Default 1e-8. */
  readonly eps?: number;
  /** Absent: no buffer is kept and momentum cannot be assigned later. `0` keeps one, so that it can. */
  readonly momentum?: number;
  /** Divide by the standard deviation of the gradient instead of its root mean square. */
  readonly centered?: boolean;
}

/**
 * RMSprop. Defaults: lr 0.01, alpha 0.99, eps 1e-8, no momentum, weightDecay 0 (added to the gradient).
 * @example rmsprop({ lr: 1e-3, momentum: 0.9, centered: true })
 */
export const rmsprop = /* @__PURE__ */ component(
  {
    kind: "optimizer",
    name: "rmsprop",
    takes: () => ({
      options: {
        ...commonChecks,
        alpha: is.fraction,
        eps: is.nonNegative,
        momentum: is.nonNegative,
        centered: is.boolean,
      },
    }),
  },
  makeRmsprop,
);

function makeRmsprop(options: RmspropOptions = {}): Optimizer {
  const { alpha = 0.99, eps = 1e-8, centered = false } = options;
  const momentum = defaultMomentum(options);
  const slots = ["square_avg"];
  if (centered) slots.push("grad_avg");
  if (momentum !== undefined) slots.push("momentum_buffer");
  return {
    ...common("rmsprop", options, { lr: 0.01, weightDecay: 0 }, { value: momentum }),
    constants: { alpha, eps, centered },
    torch: {
      step: true,
      needs: ["alpha", "eps", "centered"],
      group: { ...torchFlags, momentum: 0, capturable: false },
    },
    slots,
    hyper(group) {
      const scalars: Record<string, number> = { lr: group.lr, weightDecay: group.weightDecay };
      if (momentum !== undefined) scalars.momentum = group.momentum ?? 0;
      return scalars;
    },
    leaf(p, g, old, h) {
      const d = g.add(p.ref.mul(h.weightDecay!.ref));
      const square = old.square_avg!.mul(alpha).add(d.ref.mul(d.ref).mul(1 - alpha));
      const next: Tensors = { square_avg: square };
      let variance = square.ref;
      if (centered) {
        const mean = old.grad_avg!.mul(alpha).add(d.ref.mul(1 - alpha));
        // Rounding can push a variance near zero below it, where the root would be NaN.
        variance = np.maximum(variance.sub(mean.ref.mul(mean.ref)), 0);
        next.grad_avg = mean;
      }
      let step = d.div(np.sqrt(variance).add(eps));
      if (momentum !== undefined) {
        step = old.momentum_buffer!.mul(h.momentum!.ref).add(step);
        next.momentum_buffer = step.ref;
      }
      return [p.sub(step.mul(h.lr!.ref)), next];
    },
  };
}
