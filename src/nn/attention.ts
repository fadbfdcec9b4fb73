// Multi-head self-attention with the parameter names of PyTorch's nn.MultiheadAttention (batch first).
import { nn, numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { OptionError, ProgramError } from "../core/errors.ts";
import type { Tensor } from "../core/model.ts";
import { is } from "../core/options.ts";
import { dropout } from "./basic.ts";
import { type Layer, fanInUniform, filled, showShape } from "./layer.ts";
import { tap } from "./tap.ts";

/** Options of `multiHeadAttention`. */
export interface AttentionOptions {
  /** Each position sees only itself and what came before (default false). */
  readonly causal?: boolean;
  /** Add learned offsets to the projections (default true). */
  readonly bias?: boolean;
  /** The share of attention weights dropped while training (default 0). */
  readonly dropout?: number;
}

/** Low enough that its exponential is 0 next to any real score, yet finite. */
const HIDDEN = -1e30;

/**
 * Self-attention over [batch, time, features]. Points for probes: `q`, `k`, `v` and `z` [batch, heads, time, size],
 * `scores` (before the mask) and `pattern` (after the softmax) [batch, heads, time, time].
 * @example multiHeadAttention(128, 4, { causal: true })
 */
export const multiHeadAttention = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "multiHeadAttention",
    takes: () => ({
      args: { features: is.wholeFrom(1), heads: is.wholeFrom(1) },
      options: { causal: is.boolean, bias: is.boolean, dropout: is.fraction },
    }),
  },
  makeMultiHeadAttention,
);

function makeMultiHeadAttention(features: number, heads: number, options: AttentionOptions = {}): Layer {
  const { causal = false, bias = true } = options;
  if (features % heads !== 0)
    throw new OptionError(
      `multiHeadAttention: Expected \`features\` (${features}) to be a multiple of \`heads\` (${heads})`,
    );
  const size = features / heads;
  const drop = dropout(options.dropout ?? 0);
  const project = (x: Tensor, weight: Tensor, offset: Tensor | undefined) => {
    const y = np.inner(x, weight);
    return offset ? y.add(offset) : y;
  };
  return {
    init(key) {
      // xavier_uniform over the three projections as one matrix, as PyTorch does it.
      const bound = Math.sqrt(6 / (4 * features));
      return {
        in_proj_weight: key.fold("in_proj_weight").uniform([3 * features, features], -bound, bound),
        ...(bias && { in_proj_bias: filled([3 * features], 0) }),
        "out_proj.weight": fanInUniform(key.fold("out_proj.weight"), [features, features], features),
        ...(bias && { "out_proj.bias": filled([features], 0) }),
      };
    },
    apply(params, x, ctx) {
      if (x.ndim !== 3 || x.shape[2] !== features)
        throw new ProgramError(
          `multiHeadAttention(${features}, ${heads}): expected [batch, time, ${features}], got ${showShape(x)}`,
        );
      const [batch, time] = x.shape as [number, number, number];
      const qkv = project(x, params.in_proj_weight!, params.in_proj_bias);
      const [q, k, v] = np
        .split(qkv, 3, 2)
        .map((part, i) => tap("qkv"[i]!, part.reshape([batch, time, heads, size]).transpose([0, 2, 1, 3]))) as [
        Tensor,
        Tensor,
        Tensor,
      ];
      let scores = tap("scores", np.matmul(q.mul(1 / Math.sqrt(size)), k.transpose([0, 1, 3, 2])));
      if (causal) scores = np.where(visible(time), scores, HIDDEN);
      const weights = drop.apply({}, tap("pattern", nn.softmax(scores, -1)), ctx) as Tensor;
      const mixed = tap("z", np.matmul(weights, v)).transpose([0, 2, 1, 3]).reshape([batch, time, features]);
      return project(mixed, params["out_proj.weight"]!, params["out_proj.bias"]);
    },
  };
}

/** [time, time], true where the column is not after the row. */
function visible(time: number): Tensor {
  const position = np.arange(time);
  return position.ref.reshape([time, 1]).greaterEqual(position.reshape([1, time]));
}
