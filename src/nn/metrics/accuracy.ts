// Accuracy: the share of right decisions.
import { numpy as np } from "@jax-js/jax";
import { component } from "../../core/component.ts";
import type { Metric, Tensor, TensorBatch, Tensors } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { type DeferredParts, deferredParts } from "../deferred-logits.ts";
import { both } from "../layer.ts";
import { chunkedSums } from "../losses/chunked-sums.ts";
import {
  classify,
  type Classified,
  compareLabels,
  expectClassIndices,
  expectSameShape,
  single,
  targetsOf,
  targetsOfLogits,
} from "../targets.ts";
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
        const deferred = deferredParts(outputs);
        if (deferred) return deferredSums(deferred, labels, batch, topK, ignoreIndex);
        const { counted, ...classified } = classify("accuracy", outputs, labels, ignoreIndex);
        const weight = weightOf("accuracy", batch, counted.shape, counted);
        return { right: found(classified, topK).mul(weight.ref).sum(), count: weight.sum() };
      },
      compute: ({ right, count }) => right! / count!,
    };
  },
);

/** 1 where the label is among the `topK` largest logits, else 0. */
function found({ logits, atLabel, inRange }: Omit<Classified, "counted">, topK: number): Tensor {
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
  return both(beaten.sum(-1).greater(classes - topK), inRange).astype(np.float32);
}

/** Of deferred logits some rows at a time, as in the loss. */
function deferredSums(
  { hidden, ...head }: DeferredParts,
  labels: Tensor,
  batch: TensorBatch,
  topK: number,
  ignoreIndex: number,
): Tensors {
  const classes = head.weight.shape[0]!;
  expectClassIndices("accuracy", { shape: [...hidden.shape.slice(0, -1), classes] }, labels, ignoreIndex);
  const rows = labels.size;
  const weight = weightOf("accuracy", batch, labels.shape, isCounted(labels, ignoreIndex)).reshape([rows]);
  const parts = { ...head, hidden: hidden.reshape([rows, hidden.shape.at(-1)!]) };
  const { sum, count } = chunkedSums(parts, labels.reshape([rows]), weight, undefined, {
    sumOf: (logits, some, weights) => {
      const { counted, ...compared } = compareLabels(classes, some, ignoreIndex);
      counted.dispose();
      return found({ logits, ...compared }, topK)
        .mul(weights!)
        .sum();
    },
    weightOf: (some, weights) => {
      some.dispose();
      return weights!.sum();
    },
  });
  return { right: sum, count };
}

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
