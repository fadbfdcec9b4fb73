// Metrics of probabilities: log loss, perplexity and calibration.
import { numpy as np } from "@jax-js/jax";
import { component } from "../../core/component.ts";
import type { ArrayMetric, Metric, Outputs, Tensor, TensorBatch } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { entropySums } from "../losses/cross-entropy.ts";
import { classify, targetsOf } from "../targets.ts";
import { argmaxOneHot, isCounted, outputsAndTargets, weightOf } from "./decisions.ts";

/** Options of `perplexity` and `logLoss`. */
export interface PerplexityOptions {
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
}

/** Perplexity of a language model: e to the mean cross-entropy over all tokens of an epoch. */
export const perplexity = /* @__PURE__ */ component(
  { kind: "metric", name: "perplexity", takes: () => ({ options: { ignoreIndex: is.whole } }) },
  (options: PerplexityOptions = {}): Metric => ({
    update: (outputs, batch) => entropySums("perplexity", outputs, targetsOf("perplexity", batch), batch, options),
    compute: ({ sum, count }) => Math.exp(sum! / count!),
  }),
);

/** The mean of −log(probability of the label), for logits of classes or one logit for yes or no. */
export const logLoss = /* @__PURE__ */ component(
  { kind: "metric", name: "logLoss", takes: () => ({ options: { ignoreIndex: is.whole } }) },
  (options: PerplexityOptions = {}): Metric => ({
    update: (outputs, batch) => logLossSums(outputs, batch, options),
    compute: ({ sum, count }) => sum! / count!,
  }),
);

function logLossSums(outputs: Outputs, batch: TensorBatch, options: PerplexityOptions) {
  const { x, y, reading } = outputsAndTargets("logLoss", outputs, batch);
  if (reading === "classes") return entropySums("logLoss", x, y, batch, options);
  const { ignoreIndex = -100 } = options;
  const weight = weightOf("logLoss", batch, y.shape, isCounted(y, ignoreIndex));
  const logit = x.reshape([...y.shape]);
  const target = y.astype(np.float32);
  // log(1 + e⁻ˣ) without overflow.
  const softplus = np.log(np.exp(np.abs(logit.ref).neg()).add(1)).add(np.maximum(logit.ref.neg(), 0));
  const loss = logit.ref.sub(logit.mul(target)).add(softplus);
  return { sum: loss.mul(weight.ref).sum(), count: weight.sum() };
}

/** Options of `calibrationError`. */
export interface CalibrationErrorOptions {
  /** Bins of equal width from 0 to 1 (default 15). */
  readonly bins?: number;
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
}

/**
 * Expected calibration error: how far probabilities are from how often they come true, over bins of probability, as the
 * mean over samples. Of the probability of yes (or of the second of two classes), else of the chosen class.
 */
export const calibrationError = /* @__PURE__ */ component(
  {
    kind: "metric",
    name: "calibrationError",
    takes: () => ({ options: { bins: is.wholeFrom(1), ignoreIndex: is.whole } }),
  },
  (options: CalibrationErrorOptions = {}): ArrayMetric => {
    const { bins = 15, ignoreIndex = -100 } = options;
    return {
      size: 3 * bins,
      update(outputs, batch) {
        const { sure, right, weight } = sureness(outputs, batch, ignoreIndex);
        const edges = Array.from({ length: bins - 1 }, (_, i) => (i + 1) / bins);
        // A bin has its upper edge, as in scikit-learn's calibration_curve.
        const bin =
          bins === 1
            ? np.zeros([sure.shape[0]!, 1])
            : sure.ref.greater(np.array(edges)).astype(np.float32).sum(-1, { keepdims: true });
        const inBin = bin.equal(np.arange(bins).astype(np.float32)).astype(np.float32).mul(weight);
        return {
          count: inBin.ref.sum(0),
          sure: inBin.ref.mul(sure).sum(0),
          right: inBin.mul(right).sum(0),
        };
      },
      compute({ count, sure, right }) {
        const total = count!.data.reduce((sum, each) => sum + each, 0);
        const gap = right!.data.reduce((sum, each, i) => sum + Math.abs(each - sure!.data[i]!), 0);
        return gap / total;
      },
    };
  },
);

/** Probabilities, whether they came true, and weights: [rows, 1] each. */
function sureness(outputs: Outputs, batch: TensorBatch, ignoreIndex: number) {
  const { x, y, reading } = outputsAndTargets("calibrationError", outputs, batch);
  const column = (tensor: Tensor): Tensor => tensor.reshape([-1, 1]);
  if (reading !== "classes") {
    const weight = weightOf("calibrationError", batch, y.shape, isCounted(y, ignoreIndex));
    return { sure: sigmoid(column(x)), right: column(y.astype(np.float32)), weight: column(weight) };
  }
  const { logits, atLabel, counted, inRange } = classify("calibrationError", x, y, ignoreIndex);
  inRange.dispose();
  const classes = logits.shape.at(-1)!;
  const weight = column(weightOf("calibrationError", batch, counted.shape, counted));
  const rows = logits.reshape([-1, classes]);
  const actual = atLabel.astype(np.float32).reshape([-1, classes]);
  if (classes === 2) {
    const signs = np.array([-1, 1]);
    const second = np.array([0, 1]);
    return {
      sure: sigmoid(rows.mul(signs).sum(-1, { keepdims: true })),
      right: actual.mul(second).sum(-1, { keepdims: true }),
      weight,
    };
  }
  const largest = rows.ref.max(-1, { keepdims: true });
  const sure = np.reciprocal(np.exp(rows.ref.sub(largest)).sum(-1, { keepdims: true }));
  return { sure, right: argmaxOneHot(rows).mul(actual).sum(-1, { keepdims: true }), weight };
}

const sigmoid = (x: Tensor): Tensor => np.reciprocal(np.exp(x.neg()).add(1));
