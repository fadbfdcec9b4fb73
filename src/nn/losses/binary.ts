// Losses over yes and no: binary cross-entropy on logits, and the focal loss.
import { numpy as np } from "@jax-js/jax";
import { weighSamples } from "../../core/arrays.ts";
import { component } from "../../core/component.ts";
import { DataError, ProgramError } from "../../core/errors.ts";
import type { Loss, Outputs, Tensor } from "../../core/model.ts";
import { is } from "../../core/options.ts";
import { expectSameShape, single, targetsOfLogits } from "../targets.ts";
import { sampleWeights, weightedMean } from "./weights.ts";

/** Options of `bceWithLogits`. */
export interface BceWithLogitsOptions {
  /**
   * The weight of positives: one number, or one per class along the last dimension (default 1). "balanced": negatives ÷
   * positives in the training data.
   */
  readonly posWeight?: number | readonly number[] | "balanced";
  /** Moves targets this far towards 1/2: 0 becomes half of it, 1 becomes 1 less half of it (default 0). */
  readonly labelSmoothing?: number;
}

/**
 * Binary cross-entropy on logits, as the mean over all elements, weighted by `batch.weight` if there is one. Targets are
 * 0 to 1, in the shape of the logits, or [rows] for logits [rows, 1].
 */
export const bceWithLogits = /* @__PURE__ */ component(
  {
    kind: "loss",
    name: "bceWithLogits",
    takes: () => ({
      options: {
        posWeight: is.or(is.positive, is.arrayOf(is.positive), is.oneOf("balanced")),
        labelSmoothing: is.fraction,
      },
    }),
  },
  makeBce,
);

function makeBce(options: BceWithLogitsOptions = {}): Loss {
  const { posWeight = 1, labelSmoothing = 0 } = options;
  const loss: Loss = function bceWithLogits(outputs, targets, batch) {
    const { x, y } = logitsAndTargets("bceWithLogits", outputs, targets, labelSmoothing);
    const weights = sampleWeights("bceWithLogits", batch, x.shape);
    const positive = y.ref.mul(np.array(positiveWeights(posWeight).map((w) => w - 1))).add(1);
    return weightedMean(x.ref.sub(x.ref.mul(y)).add(softplus(x.neg()).mul(positive)), weights);
  };
  return Object.assign(loss, {
    weigh: weighSamples,
    ...(posWeight === "balanced" && {
      fit: (targets: ArrayLike<number>, width: number) =>
        makeBce({ ...options, posWeight: balancedPositives(targets, width) }),
    }),
  });
}

function positiveWeights(posWeight: number | readonly number[] | "balanced"): readonly number[] {
  if (typeof posWeight === "number") return [posWeight];
  if (posWeight !== "balanced") return posWeight;
  throw new ProgramError(
    `bceWithLogits: a "balanced" posWeight is computed from the training data for the trainer's own \`loss\`. Elsewhere give a number: negatives ÷ positives.`,
  );
}

/** Negatives ÷ positives in each of `width` columns. */
function balancedPositives(targets: ArrayLike<number>, width: number): number[] {
  const positives = Array.from({ length: width }, () => 0);
  for (let i = 0; i < targets.length; i++) positives[i % width]! += targets[i]!;
  return positives.map((sum, column) => {
    const weight = (targets.length / width - sum) / sum;
    if (weight > 0 && weight < Infinity) return weight;
    const where = width === 1 ? "" : ` in column ${column}`;
    throw new DataError(
      `bceWithLogits: the training data have only ${sum > 0 ? "positives" : "negatives"}${where}, so that there is no "balanced" weight.`,
    );
  });
}

/** Options of `binaryFocal`. */
export interface BinaryFocalOptions {
  /** How much less easy targets count: the factor is (1 − probability of the target) to this power (default 2). */
  readonly gamma?: number;
  /** The weight of positives, from 0 to 1; negatives have the rest. Default: both count alike, with weight 1. */
  readonly alpha?: number;
}

/**
 * Focal loss on logits: binary cross-entropy in which targets that the model is sure of count less, for few positives
 * among many negatives. The mean over all elements, weighted by `batch.weight`. Targets are 0 or 1, in the shape of the
 * logits, or [rows] for logits [rows, 1].
 */
export const binaryFocal = /* @__PURE__ */ component(
  {
    kind: "loss",
    name: "binaryFocal",
    takes: () => ({ options: { gamma: is.nonNegative, alpha: is.between(0, 1) } }),
  },
  (options: BinaryFocalOptions = {}): Loss => {
    const { gamma = 2, alpha } = options;
    const loss: Loss = function binaryFocal(outputs, targets, batch) {
      const { x, y } = logitsAndTargets("binaryFocal", outputs, targets, 0);
      const weights = sampleWeights("binaryFocal", batch, x.shape);
      const entropy = x.ref.sub(x.ref.mul(y.ref)).add(softplus(x.ref.neg()));
      // log(1 − p of the target), without overflow: log p of the opposite target.
      const opposite = x.mul(y.ref.mul(2).sub(1));
      const miss = np.exp(softplus(opposite).neg().mul(gamma));
      const byTarget = alpha === undefined ? undefined : y.ref.mul(2 * alpha - 1).add(1 - alpha);
      y.dispose();
      const values = entropy.mul(miss);
      return weightedMean(byTarget ? values.mul(byTarget) : values, weights);
    };
    return Object.assign(loss, { weigh: weighSamples });
  },
);

function logitsAndTargets(owner: string, outputs: Outputs, given: Tensor, smoothing: number) {
  const x = single(owner, outputs);
  const targets = targetsOfLogits(x, given);
  expectSameShape(owner, x, targets);
  const y = targets.astype(np.float32);
  return { x, y: smoothing > 0 ? y.mul(1 - smoothing).add(smoothing / 2) : y };
}

/** log(1 + eˣ) without overflow. */
const softplus = (x: Tensor): Tensor => np.log(np.exp(np.abs(x.ref).neg()).add(1)).add(np.maximum(x, 0));
