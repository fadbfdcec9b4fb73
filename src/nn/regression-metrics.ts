// Metrics for regression: mean absolute error and root mean squared error over all numbers of an epoch.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Metric, Tensor } from "../core/model.ts";
import { difference, targetsOf } from "./targets.ts";

/** The mean of |outputs − targets|. */
export const mae = /* @__PURE__ */ component({ kind: "metric", name: "mae" }, (): Metric =>
  meanOf("mae", np.abs, (mean) => mean),
);

/** The root of the mean of (outputs − targets)². */
export const rmse = /* @__PURE__ */ component({ kind: "metric", name: "rmse" }, (): Metric =>
  meanOf("rmse", np.square, Math.sqrt),
);

function meanOf(name: string, each: (difference: Tensor) => Tensor, finish: (mean: number) => number): Metric {
  return {
    update(outputs, batch) {
      const d = difference(name, outputs, targetsOf(name, batch));
      const count = np.array(d.size, { dtype: np.float32 });
      return { sum: each(d).sum(), count };
    },
    compute: ({ sum, count }) => finish(sum! / count!),
  };
}
