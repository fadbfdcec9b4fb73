// Losses over numbers: squared and absolute errors, and Huber's between them.
import { lax, numpy as np } from "@jax-js/jax";
import { weighSamples } from "../../core/arrays.ts";
import { component } from "../../core/component.ts";
import type { Loss, Tensor } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { difference } from "../targets.ts";
import { sampleWeights, weightedMean } from "./weights.ts";

/** Mean squared error: the mean of (outputs − targets)². */
export const mse = /* @__PURE__ */ component({ kind: "loss", name: "mse" }, (): Loss => meanOf("mse", np.square));

/** Mean absolute error: the mean of |outputs − targets|. */
export const l1 = /* @__PURE__ */ component({ kind: "loss", name: "l1" }, (): Loss => meanOf("l1", magnitude));

/** |x| with derivative 0 at 0, as in PyTorch, so that an exact prediction has no gradient. */
const magnitude = (x: Tensor): Tensor => x.ref.mul(lax.stopGradient(np.sign(x)));

/** Options of `huber`. */
export interface HuberOptions {
  /** Where the loss changes from quadratic to linear (default 1). */
  readonly delta?: number;
}

/** Huber loss: half the squared error near the target, and linear beyond `delta`. Mean over all elements. */
export const huber = /* @__PURE__ */ component(
  { kind: "loss", name: "huber", takes: () => ({ options: { delta: is.positive } }) },
  (options: HuberOptions = {}): Loss => {
    const { delta = 1 } = options;
    return meanOf("huber", (d) => {
      const distance = np.abs(d);
      const near = distance.ref.lessEqual(delta);
      const square = np.square(distance.ref).mul(0.5);
      return np.where(near, square, distance.sub(delta / 2).mul(delta));
    });
  },
);

/** The mean of a function of the differences, weighted by `batch.weight` if there is one. */
function meanOf(name: string, each: (difference: Tensor) => Tensor): Loss {
  const loss: Loss = (outputs, targets, batch) => {
    const values = each(difference(name, outputs, targets));
    const { shape } = values;
    return weightedMean(values, sampleWeights(name, batch, shape));
  };
  return Object.assign(Object.defineProperty(loss, "name", { value: name }), { weigh: weighSamples });
}
