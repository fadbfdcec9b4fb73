// A table of vectors looked up by id.
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { numpy as np } from "@jax-js/jax";
import { expectIndices } from "./indices.ts";
import { expectWhole, isIndex, type Layer } from "./layer.ts";

/**
 * Ids of any shape become vectors: [...] → [..., features]. `weight` is [count, features], as in PyTorch.
 * An id outside the table is an error that names it; one that the model computes gives NaN, and `nanGuard` names it.
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
