// Cross-entropy over classes, and the focal loss, which gives easy samples less weight.
import { lax, numpy as np } from "@jax-js/jax";
import { checkWeights, samplesIn } from "../../core/arrays.ts";
import { component } from "../../core/component.ts";
import type { HostBatch, Loss, Outputs, Tensor, TensorBatch } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { deferredParts } from "../deferred-logits.ts";
import { classify, compareLabels, expectClassIndices, expectTargets, type Classified } from "../targets.ts";
import { chunkedSums } from "./chunked-sums.ts";
import {
  balancedWeights,
  type ClassWeights,
  classWeightArray,
  isClassWeights,
  quotient,
  sampleWeights,
} from "./weights.ts";

/** Options of `crossEntropy`. */
export interface CrossEntropyOptions {
  /** The share of the target spread evenly over all classes (default 0). */
  readonly labelSmoothing?: number;
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
  /** A weight for each class. "balanced": all classes count alike, however often each occurs in the training data. */
  readonly classWeights?: ClassWeights;
  /**
   * Of deferred logits: how many are computed at a time. Default: so many rows that they hold 32 million numbers, on
   * the engine xla 256 million, but a sixteenth of the rows at least.
   */
  readonly chunk?: number;
}

const entropyOptions = () => ({
  labelSmoothing: is.fraction,
  ignoreIndex: is.whole,
  classWeights: isClassWeights,
  chunk: is.wholeFrom(1),
});

/**
 * Cross-entropy between logits [..., classes] and whole-number labels [...]. The mean over the labels that are not
 * `ignoreIndex`, and 0 when there are none; a batch is weighted by their number. With weights of classes or samples
 * (`batch.weight`) it is the weighted mean, as in PyTorch, and a batch is weighted by the sum of the weights.
 * A label that is neither a class nor `ignoreIndex` is an error that names it; a label computed inside the loss makes
 * the loss NaN instead, and `nanGuard` names it.
 */
export const crossEntropy = /* @__PURE__ */ component(
  {
    kind: "loss",
    name: "crossEntropy",
    takes: () => ({ options: entropyOptions() }),
  },
  (options: CrossEntropyOptions = {}): Loss => entropyLoss("crossEntropy", options),
);

/** Options of `focal`. */
export interface FocalOptions extends CrossEntropyOptions {
  /** How much less easy samples count: the factor is (1 − probability of the label) to this power (default 2). */
  readonly gamma?: number;
}

/**
 * Focal loss over classes: cross-entropy in which samples that the model is sure of count less, for classes of very
 * different sizes. With `gamma: 0` it is `crossEntropy`.
 */
export const focal = /* @__PURE__ */ component(
  {
    kind: "loss",
    name: "focal",
    takes: () => ({
      options: {
        gamma: is.nonNegative,
        ...entropyOptions(),
      },
    }),
  },
  ({ gamma = 2, ...options }: FocalOptions = {}): Loss => entropyLoss("focal", { ...options, gamma }),
);

function entropyLoss(name: string, options: FocalOptions): Loss {
  const { ignoreIndex = -100, classWeights } = options;
  const loss: Loss = (outputs, labels, batch) => {
    const { sum, count } = entropySums(name, outputs, labels, batch, options);
    return classWeights || batch.weight ? quotient(sum, count) : sum.div(np.maximum(count, 1));
  };
  return Object.assign(Object.defineProperty(loss, "name", { value: name }), {
    weigh: (batch: HostBatch) => weighLabels(batch, ignoreIndex, classWeights),
    ...(classWeights === "balanced" && {
      fit: (labels: ArrayLike<number>) =>
        entropyLoss(name, { ...options, classWeights: balancedWeights(labels, { ignoreIndex }) }),
    }),
  });
}

/** The weight of the labels of `batch.y` that are not `ignoreIndex`. A batch without `y` is left for the loss to reject. */
function weighLabels(batch: HostBatch, ignoreIndex: number, classWeights?: ClassWeights): number {
  if (!batch.y) return samplesIn(batch);
  const { data } = batch.y;
  const { weight } = batch;
  if (weight) checkWeights(weight);
  const perWeight = weight ? data.length / weight.data.length : 1;
  let sum = 0;
  for (let i = 0; i < data.length; i++) {
    // As int32, like the labels inside the program.
    const label = data[i]! | 0;
    if (label === ignoreIndex) continue;
    const ofClass = Array.isArray(classWeights) ? (classWeights[label] ?? 1) : 1;
    sum += weight ? ofClass * weight.data[Math.floor(i / perWeight)]! : ofClass;
  }
  return sum;
}

/** The summed cross-entropy and the weight of the labels that are not `ignoreIndex`; shared with metrics. */
export function entropySums(
  owner: string,
  outputs: Outputs,
  labels: Tensor,
  batch: TensorBatch,
  options: FocalOptions,
): { sum: Tensor; count: Tensor } {
  const { ignoreIndex = -100 } = options;
  const deferred = deferredParts(outputs);
  if (!deferred) {
    const classified = classify(owner, outputs, labels, ignoreIndex);
    return sumsOf(owner, classified, sampleWeights(owner, batch, classified.counted.shape), options);
  }
  const { hidden, weight } = deferred;
  const classes = weight.shape[0]!;
  expectTargets(owner, labels);
  expectClassIndices(owner, { shape: [...hidden.shape.slice(0, -1), classes] }, labels, ignoreIndex);
  const labelsOf = (some: Tensor) => compareLabels(classes, some, ignoreIndex);
  const rows = labels.size;
  return chunkedSums(
    { ...deferred, hidden: hidden.reshape([rows, hidden.shape.at(-1)!]) },
    labels.reshape([rows]),
    sampleWeights(owner, batch, labels.shape)?.reshape([rows]),
    options.chunk,
    {
      sumOf: (logits, some, weights) => {
        const { sum, count } = sumsOf(owner, { logits, ...labelsOf(some) }, weights, options);
        count.dispose();
        return sum;
      },
      weightOf: (some, weights) => {
        const { atLabel, counted, inRange } = labelsOf(some);
        inRange.dispose();
        const byClass = options.classWeights && classWeightArray(owner, options.classWeights, classes);
        const ofLabel = byClass && np.where(atLabel.ref, byClass, 0).sum(-1);
        atLabel.dispose();
        return weightOfRows(counted, ofLabel, weights);
      },
    },
  );
}

function sumsOf(
  owner: string,
  { logits, atLabel, counted, inRange }: Classified,
  ofSample: Tensor | undefined,
  { labelSmoothing = 0, classWeights, gamma = 0 }: FocalOptions,
): { sum: Tensor; count: Tensor } {
  const byClass = classWeights && classWeightArray(owner, classWeights, logits.shape.at(-1)!);
  const ofLabel = byClass && np.where(atLabel.ref, byClass.ref, 0).sum(-1);
  // Logits relative to their largest: exponentials stay within range, and large logits lose no digits.
  const relative = logits.ref.sub(lax.stopGradient(logits.max(-1, { keepdims: true })));
  const logSum = np.log(np.exp(relative.ref).sum(-1));
  const focus = gamma > 0 ? missPower(relative.ref, atLabel.ref, logSum.ref, gamma) : undefined;
  const picked = np.where(atLabel, relative.ref, 0).sum(-1);
  const parts = { relative, logSum, picked };
  let loss = byClass
    ? weightedEntropy(parts, byClass, ofLabel!.ref, labelSmoothing)
    : plainEntropy(parts, labelSmoothing);
  if (focus) loss = loss.mul(focus);
  if (ofSample) loss = loss.mul(ofSample.ref);
  const count = weightOfRows(counted.ref, ofLabel, ofSample);
  const sum = np.where(counted, np.where(inRange, loss, Number.NaN), 0).sum();
  return { sum, count };
}

function weightOfRows(counted: Tensor, ofLabel: Tensor | undefined, ofSample: Tensor | undefined): Tensor {
  let weight = counted.astype(np.float32);
  if (ofLabel) weight = weight.mul(ofLabel);
  if (ofSample) weight = weight.mul(ofSample);
  return weight.sum();
}

/** Logits relative to the largest [..., classes], the logarithm of their exponentials' sum [...], and that of the label. */
interface EntropyParts {
  readonly relative: Tensor;
  readonly logSum: Tensor;
  readonly picked: Tensor;
}

function plainEntropy({ relative, logSum, picked }: EntropyParts, labelSmoothing: number): Tensor {
  const loss = logSum.sub(picked.mul(1 - labelSmoothing));
  if (labelSmoothing > 0) return loss.sub(relative.mean(-1).mul(labelSmoothing));
  relative.dispose();
  return loss;
}

/** Each class's share of the target has the weight of that class, as in PyTorch. */
function weightedEntropy(
  { relative, logSum, picked }: EntropyParts,
  byClass: Tensor,
  ofLabel: Tensor,
  labelSmoothing: number,
): Tensor {
  const loss = logSum.ref.sub(picked).mul(ofLabel.mul(1 - labelSmoothing));
  if (labelSmoothing > 0) {
    const spread = logSum.mul(byClass.ref.mean()).sub(relative.mul(byClass).mean(-1));
    return loss.add(spread.mul(labelSmoothing));
  }
  for (const unused of [relative, logSum, byClass]) unused.dispose();
  return loss;
}

/** (1 − p of the label)^gamma. From the other classes' exponentials, since 1 − p would lose the digits of a p near 1. */
function missPower(relative: Tensor, atLabel: Tensor, logSum: Tensor, gamma: number): Tensor {
  const others = np.where(atLabel, 0, np.exp(relative)).sum(-1);
  // Where nothing is left, a logarithm of 0 would make the gradient NaN.
  return np.exp(np.log(np.maximum(others, 1e-30)).sub(logSum).mul(gamma));
}
