// The basic layers: linear, embedding, flatten and dropout.
import { numpy as np, random } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { type Layer, expectLast, expectWhole, fanInUniform, isIndex, pure } from "./layer.ts";
import { expectIndices } from "./indices.ts";

/** Options of `linear`. */
export interface LinearOptions {
  /** Add a learned offset (default true). */
  readonly bias?: boolean;
}

/**
 * A fully connected layer, y = x Wᵀ + b over the last dimension. `weight` is [out, in] and `bias` [out], as in PyTorch.
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

/**
 * Looks up vectors by id, for ids of any shape: [...] → [..., features]. `weight` is [count, features], as in PyTorch.
 * An id outside the table is an error that names it; for an id computed inside the model the result is NaN instead, and
 * `nanGuard` names it.
 * @example embedding(50257, 768)
 */
export const embedding = /* @__PURE__ */ component(
  { kind: "model", name: "embedding", takes: () => ({ args: { count: is.wholeFrom(1), features: is.wholeFrom(1) } }) },
  (count: number, features: number): Layer => {
    const owner = `embedding(${count}, ${features})`;
    return {
      init: (key) => ({ weight: key.normal([count, features], 0, 1) }),
      apply(params, ids) {
        expectWhole(owner, "ids", ids);
        expectIndices(ids, { owner, what: "id", count });
        const id = ids.astype(np.int32);
        const known = isIndex(id.ref, count);
        const rows = np.take(params.weight!, np.clip(id, 0, count - 1), 0);
        // The selection also gives the gradient an array of its own to scatter from: jax-js's jit cannot scatter a view.
        return np.where(known.reshape([...known.shape, 1]), rows, Number.NaN);
      },
    };
  },
);

/** Flattens everything after the batch dimension: [batch, a, b, …] → [batch, a·b·…]. */
export const flatten = /* @__PURE__ */ component({ kind: "model", name: "flatten" }, (): Layer =>
  pure((x) => x.reshape([x.shape[0] ?? 1, x.shape.slice(1).reduce((a, b) => a * b, 1)])),
);

/**
 * While training, zeroes each value with probability `p` and scales up the rest; evaluation changes nothing.
 * @example dropout(0.1)
 */
export const dropout = /* @__PURE__ */ component(
  { kind: "model", name: "dropout", takes: () => ({ args: { p: is.fraction } }) },
  (p: number): Layer => {
    return pure((x, { train, key }) => {
      if (!train || p === 0) return x;
      const keep = random.bernoulli(key.next(), 1 - p, x.shape);
      return np.where(keep, x.mul(1 / (1 - p)), 0);
    });
  },
);
