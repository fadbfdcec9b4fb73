// Metrics: classification accuracy, perplexity, and errors of a regression.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Metric, Tensor } from "../core/model.ts";
import { is } from "../core/options.ts";
import { both } from "./layer.ts";
import { classify, difference, targetsOf } from "./targets.ts";
import { entropySums } from "./losses.ts";

/** Options of `accuracy`. */
export interface AccuracyOptions {
  /** A label among the `topK` largest logits is right (default 1). */
  readonly topK?: number;
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
}

/** Classification accuracy. Among equal logits the first class wins; NaN is never right. */
export const accuracy = /* @__PURE__ */ component(
  { kind: "metric", name: "accuracy", takes: () => ({ options: { topK: is.wholeFrom(1), ignoreIndex: is.whole } }) },
  (options: AccuracyOptions = {}): Metric => {
    const { topK = 1, ignoreIndex = -100 } = options;
    return {
      update(outputs, batch) {
        const labels = targetsOf("accuracy", batch);
        const { logits, atLabel, counted, inRange } = classify("accuracy", outputs, labels, ignoreIndex);
        const classes = logits.shape.at(-1)!;
        const chosen = np.where(atLabel.ref, logits.ref, 0).sum(-1, { keepdims: true });
        // Count the classes with smaller logits than the label's, not those with larger ones, so that NaN is never right.
        const index = np.arange(classes);
        const label = np.where(atLabel, index.ref, 0).sum(-1, { keepdims: true });
        const notBefore = index.greater(label.sub(1));
        const beaten = np.where(
          logits.ref.less(chosen.ref),
          1,
          np.where(logits.equal(chosen), notBefore.astype(np.int32), 0),
        );
        const found = both(beaten.sum(-1).greater(classes - topK), inRange);
        const right = both(found, counted.ref);
        return { right: right.astype(np.float32).sum(), count: counted.astype(np.float32).sum() };
      },
      compute: ({ right, count }) => right! / count!,
    };
  },
);

/** Options of `perplexity`. */
export interface PerplexityOptions {
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
}

/** Perplexity of a language model: e to the mean cross-entropy over all tokens of an epoch. */
export const perplexity = /* @__PURE__ */ component(
  { kind: "metric", name: "perplexity", takes: () => ({ options: { ignoreIndex: is.whole } }) },
  (options: PerplexityOptions = {}): Metric => {
    const { ignoreIndex = -100 } = options;
    return {
      update: (outputs, batch) => entropySums("perplexity", outputs, targetsOf("perplexity", batch), ignoreIndex, 0),
      compute: ({ sum, count }) => Math.exp(sum! / count!),
    };
  },
);

/** Mean absolute error over all elements of an epoch. */
export const mae = /* @__PURE__ */ component({ kind: "metric", name: "mae" }, (): Metric =>
  meanOf("mae", np.abs, (mean) => mean),
);

/** Root mean squared error over all elements of an epoch. */
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
