// Accuracy: the share of right decisions.
import { numpy as np } from "@jax-js/jax";
import { component } from "../../core/component.ts";
import type { Metric } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { both } from "../layer.ts";
import { classify, expectSameShape, single, targetsOf, targetsOfLogits } from "../targets.ts";
import { DECISION_CHECKS, type DecisionOptions, isCounted, weightOf } from "./decisions.ts";

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
        const weight = weightOf("accuracy", batch, counted.shape, counted);
        return { right: found.astype(np.float32).mul(weight.ref).sum(), count: weight.sum() };
      },
      compute: ({ right, count }) => right! / count!,
    };
  },
);

/**
 * The share of right decisions of logits in the shape of the targets, which are 0 or 1: one for each sample, or several
 * labels that are each right or wrong. Targets of logits [rows, 1] may be [rows].
 */
export const binaryAccuracy = /* @__PURE__ */ component(
  { kind: "metric", name: "binaryAccuracy", takes: () => ({ options: DECISION_CHECKS }) },
  (options: DecisionOptions = {}): Metric => {
    const { threshold = 0.5, ignoreIndex = -100 } = options;
    const limit = Math.log(threshold / (1 - threshold));
    return {
      update(outputs, batch) {
        const x = single("binaryAccuracy", outputs);
        const y = targetsOfLogits(x, targetsOf("binaryAccuracy", batch));
        expectSameShape("binaryAccuracy", x, y);
        const weight = weightOf("binaryAccuracy", batch, y.shape, isCounted(y, ignoreIndex));
        const isYes = y.astype(np.float32).greater(0.5);
        const right = np.where(isYes, x.ref.greater(limit), x.lessEqual(limit));
        return { right: right.astype(np.float32).mul(weight.ref).sum(), count: weight.sum() };
      },
      compute: ({ right, count }) => right! / count!,
    };
  },
);
