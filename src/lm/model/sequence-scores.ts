// How likely a model finds the labels of each row: the sum of their logarithms, never with the logits of more than one row.
import { numpy as np } from "@jax-js/jax";
import { isTensor, type Model, type Outputs, type Tensor, type TensorBatch, type Tensors } from "../../core/model.ts";
import { logitsOf } from "../../nn/deferred-logits.ts";
import { entropySums } from "../../nn/losses/cross-entropy.ts";
import type { LanguageModel } from "./language-model.ts";
import { languageInputs } from "./training-defaults.ts";

/** [rows] of outputs of a language model and labels [rows, time]. Consumes both. */
export function rowLogProbabilities(outputs: Outputs, labels: Tensor): Tensor {
  const rows = labels.shape[0]!;
  const sums = Array.from({ length: rows }, (_, row) => {
    const { sum, count } = entropySums(
      "log-probabilities",
      rowOf(outputs, row),
      labels.ref.slice([row, row + 1]),
      {},
      {},
    );
    count.dispose();
    return sum.neg().reshape([1]);
  });
  for (const array of isTensor(outputs) ? [outputs] : Object.values(outputs)) array.dispose();
  labels.dispose();
  return np.concatenate(sums, 0);
}

/** Of deferred logits the hidden states are one for each row, and the head is one for all. */
const rowOf = (outputs: Outputs, row: number): Outputs =>
  isTensor(outputs)
    ? outputs.ref.slice([row, row + 1])
    : Object.fromEntries(
        Object.entries(outputs).map(([name, x]) => [name, x.ndim === 3 ? x.ref.slice([row, row + 1]) : x.ref]),
      );

/** A model whose outputs are the scores of its rows, and their numbers: batches of a loader come in any order. */
export function scorer(of: Pick<LanguageModel, "init" | "apply" | "base">): Model<TensorBatch, Tensors> {
  return {
    init: (key) => of.init(key),
    ...(of.base && { base: of.base }),
    apply(params, { y, row, ...batch }, ctx) {
      const outputs = of.apply(params, languageInputs(batch), ctx) as Outputs;
      const greedy = isGreedy(outputs, y!.ref);
      return { score: rowLogProbabilities(outputs, y!), greedy, row: row!.reshape([-1]) };
    },
  };
}

/** 1 for rows all of whose labels are the most likely tokens. Keeps the outputs. */
function isGreedy(outputs: Outputs, labels: Tensor): Tensor {
  const rows = Array.from({ length: labels.shape[0]! }, (_, row) => {
    const logits = logitsOf(rowOf(outputs, row)) as Tensor;
    const best = np.argmax(logits, -1).astype(np.int32);
    const own = labels.ref.slice([row, row + 1]);
    const wrong = best.notEqual(own.ref).astype(np.float32).mul(own.greaterEqual(0).astype(np.float32)).sum();
    return wrong.less(0.5).astype(np.float32).reshape([1]);
  });
  labels.dispose();
  return np.concatenate(rows, 0);
}
