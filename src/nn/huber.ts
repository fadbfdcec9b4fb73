// Huber loss: squared near the target, linear far from it.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Loss } from "../core/model.ts";
import { is } from "../core/options.ts";
import { difference } from "./targets.ts";

/** Options of `huber`. */
export interface HuberOptions {
  /** Where the square ends and the line begins (default 1). */
  readonly delta?: number;
}

/** Half the squared error near the target, and linear beyond `delta`. Mean over all elements. */
export const huber = /* @__PURE__ */ component(
  { kind: "loss", name: "huber", takes: () => ({ options: { delta: is.positive } }) },
  (options: HuberOptions = {}): Loss => {
    const { delta = 1 } = options;
    return function huber(outputs, targets) {
      const distance = np.abs(difference("huber", outputs, targets));
      const near = distance.ref.lessEqual(delta);
      const square = np.square(distance.ref).mul(0.5);
      return np.where(near, square, distance.sub(delta / 2).mul(delta)).mean();
    };
  },
);
