// Root-mean-square normalisation over the last dimension.
import { numpy as np } from "@jax-js/jax";
import { checkOptions, is } from "../core/options.ts";
import { filled } from "./init.ts";
import { checkSizes, expectLast, type Layer } from "./layer.ts";

/** Options of `rmsNorm`. */
export interface RmsNormOptions {
  /** Added to the mean square (default 2⁻²³, float32's epsilon, as in PyTorch). */
  readonly eps?: number;
}

/** Root mean square 1 over the last dimension, then a learnt scale. */
export function rmsNorm(features: number, options: RmsNormOptions = {}): Layer {
  checkSizes("rmsNorm", { features });
  checkOptions("rmsNorm", options, { eps: is.positive });
  const { eps = 2 ** -23 } = options;
  return {
    init: () => ({ weight: filled([features], 1) }),
    apply(params, x) {
      expectLast(`rmsNorm(${features})`, x, features);
      const meanSquare = np.square(x.ref).mean(-1, { keepdims: true });
      return x.mul(np.reciprocal(np.sqrt(meanSquare.add(eps)))).mul(params.weight!);
    },
  };
}
