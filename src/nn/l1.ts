// Mean absolute error.
import { lax, numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Loss, Tensor } from "../core/model.ts";
import { difference } from "./targets.ts";

/** The mean of |outputs − targets|. */
export const l1 = /* @__PURE__ */ component(
  { kind: "loss", name: "l1" },
  (): Loss =>
    function l1(outputs, targets) {
      return magnitude(difference("l1", outputs, targets)).mean();
    },
);

/** |x| whose derivative at 0 is 0, as in PyTorch: an exact hit is not pushed away. */
const magnitude = (x: Tensor): Tensor => x.ref.mul(lax.stopGradient(np.sign(x)));
