// Weights of samples and of classes: how losses and metrics find them, and what a batch weighs with them.
import { numpy as np } from "@jax-js/jax";
import { DataError, ProgramError } from "../../core/errors.ts";
import type { Tensor, TensorBatch } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { showShape } from "../layer.ts";

/** Weights of the classes, in their order; `"balanced"`: samples ÷ (classes × samples of the class) in the training data. */
export type ClassWeights = readonly number[] | "balanced";

export const isClassWeights = is.or(is.arrayOf(is.nonNegative), is.oneOf("balanced"));

/**
 * The samples' weights from `batch.weight`, in the shape of the targets: one for each sample, or for each position of
 * its first dimensions. Undefined for a batch without weights.
 */
export function sampleWeights(owner: string, batch: TensorBatch, shape: readonly number[]): Tensor | undefined {
  const { weight } = batch;
  if (weight === undefined) return undefined;
  if (weight.ndim === 0 || weight.ndim > shape.length || weight.shape.some((size, i) => size !== shape[i]))
    throw new ProgramError(
      `${owner}: the batch's \`weight\` has shape ${showShape(weight)}, but there must be one weight for each sample of targets ${showShape({ shape })}: [${shape[0] ?? 1}].`,
    );
  const column = weight.ref.astype(np.float32).reshape([...weight.shape, ...shape.slice(weight.ndim).map(() => 1)]);
  return np.broadcastTo(column, [...shape]);
}

/** The mean of values, weighted if there are weights; 0 where they add up to nothing. Consumes both. */
export function weightedMean(values: Tensor, weights: Tensor | undefined): Tensor {
  return weights ? quotient(values.mul(weights.ref).sum(), weights.sum()) : values.mean();
}

/** sum ÷ count, and 0 where nothing counts. Consumes both. */
export function quotient(sum: Tensor, count: Tensor): Tensor {
  const counts = count.ref.greater(0);
  return np.where(counts.ref, sum.div(np.where(counts, count, 1)), 0);
}

/**
 * Class weights that make all classes count alike, as in scikit-learn: samples ÷ (classes × samples of the class). A
 * class without samples weighs 1.
 * @example crossEntropy({ classWeights: balancedWeights(labels) })
 */
export function balancedWeights(labels: ArrayLike<number>, options: { readonly ignoreIndex?: number } = {}): number[] {
  const { ignoreIndex = -100 } = options;
  const counts: number[] = [];
  let total = 0;
  for (let i = 0; i < labels.length; i++) {
    const label = labels[i]!;
    if (label === ignoreIndex) continue;
    if (!Number.isSafeInteger(label) || label < 0)
      throw new DataError(`balancedWeights: expected labels 0, 1, 2, …, got ${label} at ${i}.`);
    counts[label] = (counts[label] ?? 0) + 1;
    total++;
  }
  const classes = counts.filter(Boolean).length;
  return Array.from(counts, (count) => (count ? total / (classes * count) : 1));
}

/** The weights as an array inside a program, for so many classes. */
export function classWeightArray(owner: string, weights: ClassWeights, classes: number): Tensor {
  if (weights === "balanced")
    throw new ProgramError(
      `${owner}: "balanced" weights are computed from the training data for the trainer's own \`loss\`. Elsewhere give them as numbers: balancedWeights(labels).`,
    );
  if (weights.length > classes)
    throw new ProgramError(`${owner}: there are ${weights.length} class weights for ${classes} classes.`);
  return np.array([...weights, ...Array.from({ length: classes - weights.length }, () => 1)]);
}
