// Root-mean-square normalisation over the last dimension.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { filled } from "./init.ts";
import { expectLast, type Layer } from "./layer.ts";

/** Options of `rmsNorm`. */
export interface RmsNormOptions {
  /** Added to the mean square (default 2⁻²³, float32's epsilon, as in PyTorch). */
  readonly eps?: number;
}

/** Root mean square 1 over the last dimension, then a learnt scale. */
export const rmsNorm = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "rmsNorm",
    takes: () => ({ args: { features: is.wholeFrom(1) }, options: { eps: is.positive } }),
  },
  (features: number, options: RmsNormOptions = {}): Layer => {
    const { eps = 2 ** -23 } = options;
    return {
      init: () => ({ weight: filled([features], 1) }),
      apply(params, x) {
        expectLast(`rmsNorm(${features})`, x, features);
        const meanSquare = np.square(x.ref).mean(-1, { keepdims: true });
        return x.mul(np.reciprocal(np.sqrt(meanSquare.add(eps)))).mul(params.weight!);
      },
    };
  },
);
