// Mean squared error.
import { numpy as np } from "@jax-js/jax";
import type { Loss } from "../core/model.ts";
import { difference } from "./targets.ts";

/** The mean of (outputs − targets)². */
export const mse = (): Loss =>
  function mse(outputs, targets) {
    return np.square(difference("mse", outputs, targets)).mean();
  };
