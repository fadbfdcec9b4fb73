// A fully connected layer: y = x Wᵀ + b over the last dimension.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { fanInUniform } from "./init.ts";
import { expectLast, type Layer } from "./layer.ts";

/** Options of `linear`. */
export interface LinearOptions {
  /** Add a learned offset (default true). */
  readonly bias?: boolean;
}

/**
 * `weight` is [out, in] and `bias` [out], as in PyTorch.
 * @example linear(784, 256)
 */
export const linear = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "linear",
    takes: () => ({ args: { in: is.wholeFrom(1), out: is.wholeFrom(1) }, options: { bias: is.boolean } }),
  },
  (inFeatures: number, outFeatures: number, options: LinearOptions = {}): Layer => {
    const { bias = true } = options;
    const owner = `linear(${inFeatures}, ${outFeatures})`;
    return {
      init: (key) => ({
        weight: fanInUniform(key.fold("weight"), [outFeatures, inFeatures], inFeatures),
        ...(bias && { bias: fanInUniform(key.fold("bias"), [outFeatures], inFeatures) }),
      }),
      apply(params, x) {
        expectLast(owner, x, inFeatures);
        const y = np.inner(x, params.weight!);
        return bias ? y.add(params.bias!) : y;
      },
    };
  },
);
