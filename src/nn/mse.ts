// Mean squared error.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Loss } from "../core/model.ts";
import { difference } from "./targets.ts";

/** The mean of (outputs − targets)². */
export const mse = /* @__PURE__ */ component(
  { kind: "loss", name: "mse" },
  (): Loss =>
    function mse(outputs, targets) {
      return np.square(difference("mse", outputs, targets)).mean();
    },
);
