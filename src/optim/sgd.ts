// Stochastic gradient descent with momentum, as torch.optim.SGD.
import { component } from "../core/component.ts";
import { OptionError } from "../core/errors.ts";
import type { Optimizer } from "../core/optimizer.ts";
import { is } from "../core/options.ts";
import { common, commonChecks, type CommonOptions, defaultMomentum, torchFlags } from "./common.ts";

/** Options of `sgd`. */
export interface SgdOptions extends CommonOptions {
  /** Absent: no buffer is kept and momentum cannot be assigned later. `0` keeps one, so that it can. */
  readonly momentum?: number;
  /** The share of each gradient that does not enter the momentum. Default 0. */
  readonly dampening?: number;
  readonly nesterov?: boolean;
}

/**
 * Stochastic gradient descent. Defaults: lr 1e-3, no momentum, weightDecay 0 (added to the gradient).
 * @example sgd({ lr: 0.1, momentum: 0.9, nesterov: true })
 */
export const sgd = /* @__PURE__ */ component(
  {
    kind: "optimizer",
    name: "sgd",
    takes: () => ({
      options: {
        ...commonChecks,
        momentum: is.nonNegative,
        dampening: is.finite,
        nesterov: is.boolean,
      },
    }),
  },
  makeSgd,
);

function makeSgd(options: SgdOptions = {}): Optimizer {
  const { dampening = 0, nesterov = false } = options;
  const momentum = defaultMomentum(options);
  if (nesterov && (momentum === undefined || dampening !== 0)) {
    throw new OptionError("sgd: `nesterov` needs a `momentum` and no `dampening`.");
  }
  const base = {
    ...common("sgd", options, { lr: 1e-3, weightDecay: 0 }, { value: momentum }),
    constants: { dampening, nesterov },
    torch: { step: false, needs: ["dampening", "nesterov"], group: { ...torchFlags, momentum: 0, fused: null } },
  };
  if (momentum === undefined) {
    return {
      ...base,
      slots: [],
      hyper: ({ lr, weightDecay }) => ({ lr, weightDecay }),
      leaf(p, g, _slots, h) {
        const d = g.add(p.ref.mul(h.weightDecay!.ref));
        return [p.sub(d.mul(h.lr!.ref)), {}];
      },
    };
  }
  return {
    ...base,
    slots: ["momentum_buffer"],
    hyper({ lr, weightDecay, momentum = 0 }, t) {
      // The buffer starts as the first gradient itself, undampened; without momentum there is nothing to dampen.
      const take = t === 1 || momentum === 0 ? 1 : 1 - dampening;
      return { lr, weightDecay, momentum, take };
    },
    leaf(p, g, slots, h) {
      const d = g.add(p.ref.mul(h.weightDecay!.ref));
      const buffer = slots.momentum_buffer!.mul(h.momentum!.ref).add((nesterov ? d.ref : d).mul(h.take!.ref));
      const step = nesterov ? d.add(buffer.ref.mul(h.momentum!.ref)) : buffer.ref;
      return [p.sub(step.mul(h.lr!.ref)), { momentum_buffer: buffer }];
    },
  };
}
