// Errors of a regression: absolute, squared and relative ones, and the share of the variance that is explained.
import { numpy as np } from "@jax-js/jax";
import type { HostArray } from "../../core/arrays.ts";
import { component } from "../../core/component.ts";
import type { Metric, RowMetric, Tensor } from "../../core/model.ts";
import { expectSameShape, single, targetsOf } from "../targets.ts";
import { MAX_ROWS, ROW_CHECKS, type RowOptions } from "./rows.ts";
import { weightOf } from "./decisions.ts";

/** Mean absolute error over all elements of an epoch. */
export const mae = /* @__PURE__ */ component({ kind: "metric", name: "mae" }, (): Metric =>
  meanOf(
    "mae",
    (d) => np.abs(d),
    (mean) => mean,
  ),
);

/** Root mean squared error over all elements of an epoch. */
export const rmse = /* @__PURE__ */ component({ kind: "metric", name: "rmse" }, (): Metric =>
  meanOf("rmse", (d) => np.square(d), Math.sqrt),
);

/** What a target of 0 is divided by instead: the distance of 1 to the next float64, as in scikit-learn. */
const SMALLEST = 2 ** -52;

/** Mean absolute percentage error: the mean of |output − target| ÷ |target|, as a fraction; enormous where a target is 0. */
export const mape = /* @__PURE__ */ component({ kind: "metric", name: "mape" }, (): Metric =>
  meanOf(
    "mape",
    (d, target) => np.abs(d).div(np.maximum(np.abs(target()), SMALLEST)),
    (mean) => mean,
  ),
);

function meanOf(
  name: string,
  each: (difference: Tensor, target: () => Tensor) => Tensor,
  finish: (mean: number) => number,
): Metric {
  return {
    update(outputs, batch) {
      const x = single(name, outputs);
      const y = targetsOf(name, batch);
      expectSameShape(name, x, y);
      const values = each(x.sub(y.ref), () => y.ref);
      y.dispose();
      if (!batch.weight) {
        const count = np.array(values.size, { dtype: np.float32 });
        return { sum: values.sum(), count };
      }
      const { shape } = values;
      const weight = weightOf(name, batch, shape, np.ones([...shape]));
      return { sum: values.mul(weight.ref).sum(), count: weight.sum() };
    },
    compute: ({ sum, count }) => finish(sum! / count!),
  };
}

/**
 * R², the share of the targets' variance that the outputs explain: 1 is perfect, 0 as good as the mean. Of several
 * outputs the mean. Keeps all rows of an evaluation, since sums of squares would lose digits far from 0.
 */
export const r2 = /* @__PURE__ */ component(
  { kind: "metric", name: "r2", takes: () => ({ options: ROW_CHECKS }) },
  (options: RowOptions = {}): RowMetric => {
    const { maxRows = MAX_ROWS } = options;
    return {
      maxRows,
      update(outputs, batch) {
        const x = single("r2", outputs);
        const y = targetsOf("r2", batch);
        expectSameShape("r2", x, y);
        const rows = y.shape[0] ?? 1;
        const { shape } = y;
        const weight = weightOf("r2", batch, shape, np.ones([...shape]));
        return Object.fromEntries(
          Object.entries({ output: x, target: y.astype(np.float32), weight }).map(([key, t]) => [
            key,
            t.reshape([rows, -1]),
          ]),
        );
      },
      compute({ output, target, weight }) {
        const [rows, width] = target!.shape as [number, number];
        if (rows < 2) return Number.NaN;
        const scores = Array.from({ length: width }, (_, column) => {
          const of = ({ data }: HostArray) =>
            Float64Array.from({ length: rows }, (__, row) => data[row * width + column]!);
          return explained(of(output!), of(target!), of(weight!));
        });
        return scores.reduce((sum, score) => sum + score, 0) / width;
      },
    };
  },
);

function explained(output: Float64Array, target: Float64Array, weight: Float64Array): number {
  const total = (of: (row: number) => number): number => weight.reduce((sum, w, row) => sum + w * of(row), 0);
  const mean = total((row) => target[row]!) / total(() => 1);
  const left = total((row) => (target[row]! - output[row]!) ** 2);
  const variance = total((row) => (target[row]! - mean) ** 2);
  // Targets that are all alike have no variance to explain: scikit-learn's values for these.
  if (variance === 0) return left === 0 ? 1 : 0;
  return 1 - left / variance;
}
