// Loss functions.
import { lax, numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { HostBatch, Loss, Outputs, Tensor } from "../core/model.ts";
import { classify, difference, expectSameShape, single } from "./targets.ts";
import { is } from "../core/options.ts";
import { samplesIn } from "../core/arrays.ts";

/** Mean squared error: the mean of (outputs − targets)². */
export const mse = /* @__PURE__ */ component(
  { kind: "loss", name: "mse" },
  (): Loss =>
    function mse(outputs, targets) {
      return np.square(difference("mse", outputs, targets)).mean();
    },
);

/** Mean absolute error: the mean of |outputs − targets|. */
export const l1 = /* @__PURE__ */ component(
  { kind: "loss", name: "l1" },
  (): Loss =>
    function l1(outputs, targets) {
      return magnitude(difference("l1", outputs, targets)).mean();
    },
);

/** |x| with derivative 0 at 0, as in PyTorch, so that an exact prediction has no gradient. */
const magnitude = (x: Tensor): Tensor => x.ref.mul(lax.stopGradient(np.sign(x)));

/** Options of `huber`. */
export interface HuberOptions {
  /** Where the loss changes from quadratic to linear (default 1). */
  readonly delta?: number;
}

/** Huber loss: half the squared error near the target, and linear beyond `delta`. Mean over all elements. */
export const huber = /* @__PURE__ */ component(
  { kind: "loss", name: "huber", takes: () => ({ options: { delta: is.positive } }) },
  (options: HuberOptions = {}): Loss => {
    const { delta = 1 } = options;
    return function huber(outputs, targets) {
      const distance = np.abs(difference("huber", outputs, targets));
      const near = distance.ref.lessEqual(delta);
      const square = np.square(distance.ref).mul(0.5);
      return np.where(near, square, distance.sub(delta / 2).mul(delta)).mean();
    };
  },
);

/** Options of `crossEntropy`. */
export interface CrossEntropyOptions {
  /** The share of the target spread evenly over all classes (default 0). */
  readonly labelSmoothing?: number;
  /** Labels with this value are ignored (default −100). */
  readonly ignoreIndex?: number;
}

/**
 * Cross-entropy between logits [..., classes] and whole-number labels [...]. The mean over the labels that are not
 * `ignoreIndex`, and 0 when there are none; a batch is weighted by their number.
 * A label that is neither a class nor `ignoreIndex` is an error that names it; a label computed inside the loss makes
 * the loss NaN instead, and `nanGuard` names it.
 */
export const crossEntropy = /* @__PURE__ */ component(
  {
    kind: "loss",
    name: "crossEntropy",
    takes: () => ({ options: { labelSmoothing: is.fraction, ignoreIndex: is.whole } }),
  },
  (options: CrossEntropyOptions = {}): Loss => {
    const { labelSmoothing = 0, ignoreIndex = -100 } = options;
    const loss: Loss = function crossEntropy(outputs, labels) {
      const { sum, count } = entropySums("crossEntropy", outputs, labels, ignoreIndex, labelSmoothing);
      return sum.div(np.maximum(count, 1));
    };
    return Object.assign(loss, { weigh: (batch: HostBatch) => countLabels(batch, ignoreIndex) });
  },
);

/** The labels of `batch.y` that are not `ignoreIndex`. A batch without `y` is left for the loss to reject. */
function countLabels(batch: HostBatch, ignoreIndex: number): number {
  if (!batch.y) return samplesIn(batch);
  const { data } = batch.y;
  let count = data.length;
  // As int32, like the labels inside the program.
  for (let i = 0; i < data.length; i++) if ((data[i]! | 0) === ignoreIndex) count--;
  return count;
}

/** The summed cross-entropy and the number of labels that are not `ignoreIndex`; shared with the metric `perplexity`. */
export function entropySums(
  owner: string,
  outputs: Outputs,
  labels: Tensor,
  ignoreIndex: number,
  labelSmoothing: number,
): { sum: Tensor; count: Tensor } {
  const { logits, atLabel, counted, inRange } = classify(owner, outputs, labels, ignoreIndex);
  // Logits relative to their largest: exponentials stay within range, and large logits lose no digits.
  const relative = logits.ref.sub(lax.stopGradient(logits.max(-1, { keepdims: true })));
  const logSum = np.log(np.exp(relative.ref).sum(-1));
  const picked = np.where(atLabel, relative.ref, 0).sum(-1);
  let loss = logSum.sub(picked.mul(1 - labelSmoothing));
  if (labelSmoothing > 0) loss = loss.sub(relative.mean(-1).mul(labelSmoothing));
  else relative.dispose();
  const sum = np.where(counted.ref, np.where(inRange, loss, Number.NaN), 0).sum();
  return { sum, count: counted.astype(np.float32).sum() };
}

/** Options of `bceWithLogits`. */
export interface BceWithLogitsOptions {
  /** The weight of positives: one number, or one per class along the last dimension (default 1). */
  readonly posWeight?: number | readonly number[];
}

/** Binary cross-entropy on logits, as the mean over all elements. Targets are 0 to 1, in the shape of the logits. */
export const bceWithLogits = /* @__PURE__ */ component(
  {
    kind: "loss",
    name: "bceWithLogits",
    takes: () => ({ options: { posWeight: is.or(is.positive, is.arrayOf(is.positive)) } }),
  },
  (options: BceWithLogitsOptions = {}): Loss => {
    const { posWeight = 1 } = options;
    const weights = typeof posWeight === "number" ? [posWeight] : posWeight;
    return function bceWithLogits(outputs, targets) {
      const x = single("bceWithLogits", outputs);
      expectSameShape("bceWithLogits", x, targets);
      const y = targets.astype(np.float32);
      // log(1 + e⁻ˣ) without overflow.
      const softplus = np.log(np.exp(np.abs(x.ref).neg()).add(1)).add(np.maximum(x.ref.neg(), 0));
      const positive = y.ref.mul(np.array(weights.map((w) => w - 1))).add(1);
      return x.sub(x.ref.mul(y)).add(softplus.mul(positive)).mean();
    };
  },
);
