// Dropout: zeroes a share of the values while training and scales up the rest.
import { numpy as np, random } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { is } from "../core/options.ts";
import { pure, type Layer } from "./layer.ts";

/**
 * Each value is dropped with probability `p`; evaluation changes nothing.
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
