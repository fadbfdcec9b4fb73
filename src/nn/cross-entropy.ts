// Cross-entropy between logits and whole-number labels.
import { lax, numpy as np } from "@jax-js/jax";
import { samplesIn } from "../core/batch.ts";
import { component } from "../core/component.ts";
import type { HostBatch, Loss, Outputs, Tensor } from "../core/model.ts";
import { is } from "../core/options.ts";
import { classify } from "./targets.ts";

/** Options of `crossEntropy`. */
export interface CrossEntropyOptions {
  /** The share of the target spread evenly over all classes (default 0). */
  readonly labelSmoothing?: number;
  /** Labels with this value do not count (default −100). */
  readonly ignoreIndex?: number;
}

/**
 * The mean over labels that count, and 0 when none does. A batch weighs as many labels as count in it. Logits are [..., classes], labels [...].
 * A label that is neither a class nor `ignoreIndex` is an error that names it; one that the loss computes first makes
 * the loss NaN, and `nanGuard` names it.
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

/** The labels of `batch.y` that are not `ignoreIndex`. Without a `y` the loss itself says what is missing. */
function countLabels(batch: HostBatch, ignoreIndex: number): number {
  if (!batch.y) return samplesIn(batch);
  const { data } = batch.y;
  let count = data.length;
  // As int32, like the labels inside the program.
  for (let i = 0; i < data.length; i++) if ((data[i]! | 0) === ignoreIndex) count--;
  return count;
}

/** The summed loss and the number of labels that count. */
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
