// Normalization layers.
import { lax, numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { ProgramError } from "../core/errors.ts";
import type { Tensor, Tensors } from "../core/model.ts";
import { is } from "../core/options.ts";
import { type Layer, expectLast, filled, showShape } from "./layer.ts";

/** Options of `batchNorm`. */
export interface BatchNormOptions {
  /** Added to the variance (default 1e-5). */
  readonly eps?: number;
  /** The share of the batch's statistics in the running statistics at each step (default 0.1). */
  readonly momentum?: number;
}

/**
 * Batch normalization over dimension 1, for [batch, channels], [batch, channels, length] and images: PyTorch's
 * BatchNorm1d and BatchNorm2d in one, with its buffers: `running_mean`, `running_var` (unbiased) and
 * `num_batches_tracked`. Training uses the batch's own statistics, evaluation the running ones.
 */
export const batchNorm = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "batchNorm",
    takes: () => ({ args: { features: is.wholeFrom(1) }, options: { eps: is.positive, momentum: is.fraction } }),
  },
  makeBatchNorm,
);

function makeBatchNorm(features: number, options: BatchNormOptions = {}): Layer {
  const { eps = 1e-5, momentum = 0.1 } = options;
  const owner = `batchNorm(${features})`;
  return {
    init: () => ({ weight: filled([features], 1), bias: filled([features], 0) }),
    initState: () => ({
      running_mean: filled([features], 0),
      running_var: filled([features], 1),
      num_batches_tracked: { data: new Int32Array(1), shape: [] },
    }),
    apply(params, x, { train, state, momentum: given }) {
      if (x.ndim < 2 || x.shape[1] !== features)
        throw new ProgramError(`${owner}: expected [batch, ${features}, …], got ${showShape(x)}`);
      const perChannel = x.shape.map((_, i) => (i === 1 ? features : 1));
      const spread = (v: Tensor) => v.reshape(perChannel);
      const normalize = (mean: Tensor, variance: Tensor) =>
        x
          .sub(spread(mean))
          .mul(spread(np.reciprocal(np.sqrt(variance.add(eps))).mul(params.weight!)))
          .add(spread(params.bias!));
      if (!train) return [normalize(state.running_mean!.ref, state.running_var!.ref), state];

      const count = x.size / features;
      if (count < 2)
        throw new ProgramError(`${owner}: training needs more than one value per channel, got ${showShape(x)}`);
      const others = x.shape.map((_, i) => i).filter((i) => i !== 1);
      const mean = x.ref.mean(others);
      const variance = np.square(x.ref.sub(spread(mean.ref))).mean(others);
      const blend = (running: Tensor, batch: Tensor) => {
        const now = lax.stopGradient(batch);
        if (!given) return running.mul(1 - momentum).add(now.mul(momentum));
        return running.mul(np.subtract(1, given.ref)).add(now.mul(given.ref));
      };
      const next: Tensors = {
        running_mean: blend(state.running_mean!, mean.ref),
        running_var: blend(state.running_var!, variance.ref.mul(count / (count - 1))),
        num_batches_tracked: state.num_batches_tracked!.add(1),
      };
      return [normalize(mean, variance), next];
    },
  };
}

/** Options of `layerNorm`. */
export interface LayerNormOptions {
  /** Added to the variance (default 1e-5). */
  readonly eps?: number;
  /** Add a learned offset (default true). */
  readonly bias?: boolean;
}

/** Layer normalization: mean 0 and variance 1 over the last dimension, then a learned scale and shift. */
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
        const centered = x.ref.sub(x.mean(-1, { keepdims: true }));
        const variance = np.square(centered.ref).mean(-1, { keepdims: true });
        const y = centered.mul(np.reciprocal(np.sqrt(variance.add(eps)))).mul(params.weight!);
        return bias ? y.add(params.bias!) : y;
      },
    };
  },
);

/** Options of `rmsNorm`. */
export interface RmsNormOptions {
  /** Added to the mean square (default 2⁻²³, float32's epsilon, as in PyTorch). */
  readonly eps?: number;
}

/** Root mean square normalization over the last dimension, then a learned scale. */
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
