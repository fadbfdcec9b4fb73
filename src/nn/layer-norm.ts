// Layer normalisation over the last dimension.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { filled } from "./init.ts";
import { expectLast, type Layer } from "./layer.ts";

/** Options of `layerNorm`. */
export interface LayerNormOptions {
  /** Added to the variance (default 1e-5). */
  readonly eps?: number;
  /** Add a learned offset (default true). */
  readonly bias?: boolean;
}

/** Mean 0 and variance 1 over the last dimension, then a learnt scale and shift. */
export const layerNorm = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "layerNorm",
    takes: () => ({ args: { features: is.wholeFrom(1) }, options: { eps: is.positive, bias: is.boolean } }),
  },
  (features: number, options: LayerNormOptions = {}): Layer => {
    const { eps = 1e-5, bias = true } = options;
    return {
      init: () => ({ weight: filled([features], 1), ...(bias && { bias: filled([features], 0) }) }),
      apply(params, x) {
        expectLast(`layerNorm(${features})`, x, features);
        const centred = x.ref.sub(x.mean(-1, { keepdims: true }));
        const variance = np.square(centred.ref).mean(-1, { keepdims: true });
        const y = centred.mul(np.reciprocal(np.sqrt(variance.add(eps)))).mul(params.weight!);
        return bias ? y.add(params.bias!) : y;
      },
    };
  },
);
