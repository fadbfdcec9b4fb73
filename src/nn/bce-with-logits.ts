// Binary cross-entropy on logits.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Loss } from "../core/model.ts";
import { is } from "../core/options.ts";
import { expectSameShape, single } from "./targets.ts";

/** Options of `bceWithLogits`. */
export interface BceWithLogitsOptions {
  /** How much a positive counts: one number, or one per class along the last dimension (default 1). */
  readonly posWeight?: number | readonly number[];
}

/** The mean over all numbers. Targets are 0 to 1, in the shape of the logits. */
export const bceWithLogits = /* @__PURE__ */ component(
  {
    kind: "loss",
    name: "bceWithLogits",
    takes: () => ({ options: { posWeight: is.or(is.positive, is.arrayOf(is.positive)) } }),
  },
  (options: BceWithLogitsOptions = {}): Loss => {
    const { posWeight = 1 } = options;
    const weights = typeof posWeight === "number" ? [posWeight] : posWeight;
    return function bceWithLogits(outputs, targets) {
      const x = single("bceWithLogits", outputs);
      expectSameShape("bceWithLogits", x, targets);
      const y = targets.astype(np.float32);
      // log(1 + e⁻ˣ) without overflow.
      const softplus = np.log(np.exp(np.abs(x.ref).neg()).add(1)).add(np.maximum(x.ref.neg(), 0));
      const positive = y.ref.mul(np.array(weights.map((w) => w - 1))).add(1);
      return x.sub(x.ref.mul(y)).add(softplus.mul(positive)).mean();
    };
  },
);
