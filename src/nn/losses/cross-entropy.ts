// Cross-entropy over classes, and the focal loss, which gives easy samples less weight.
import { lax, numpy as np } from "@jax-js/jax";
import { checkWeights, samplesIn } from "../../core/arrays.ts";
import { component } from "../../core/component.ts";
import type { HostBatch, Loss, Outputs, Tensor, TensorBatch } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { classify } from "../targets.ts";
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
}

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
    takes: () => ({ options: { labelSmoothing: is.fraction, ignoreIndex: is.whole, classWeights: isClassWeights } }),
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
        labelSmoothing: is.fraction,
        ignoreIndex: is.whole,
        classWeights: isClassWeights,
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
  { ignoreIndex = -100, labelSmoothing = 0, classWeights, gamma = 0 }: FocalOptions,
): { sum: Tensor; count: Tensor } {
  const { logits, atLabel, counted, inRange } = classify(owner, outputs, labels, ignoreIndex);
  const byClass = classWeights && classWeightArray(owner, classWeights, logits.shape.at(-1)!);
  const ofLabel = byClass && np.where(atLabel.ref, byClass.ref, 0).sum(-1);
  const ofSample = sampleWeights(owner, batch, counted.shape);
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
  let weight = counted.ref.astype(np.float32);
  if (ofLabel) weight = weight.mul(ofLabel);
  if (ofSample) weight = weight.mul(ofSample);
  const sum = np.where(counted, np.where(inRange, loss, Number.NaN), 0).sum();
  return { sum, count: weight.sum() };
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
