// How a language model is trained where nothing else is said: on the next token, over the labels that count.
import type { ModelDefaults, TensorBatch } from "../../core/model.ts";
import { crossEntropy } from "../../nn/losses/cross-entropy.ts";
import { accuracy } from "../../nn/metrics/accuracy.ts";
import { perplexity } from "../../nn/metrics/entropy.ts";

/** Which fields of a batch the model reads: the tokens, and in packed rows where each text begins. */
export const languageInputs = ({ x, positions, segments }: TensorBatch): TensorBatch => ({
  ids: x!,
  ...(positions && { positions }),
  ...(segments && { segments }),
});

export const languageDefaults = (): ModelDefaults => ({
  loss: crossEntropy(),
  // A training step has its loss, which says the same; a second pass over a large vocabulary would cost time.
  metrics: { perplexity: { ...perplexity(), evalOnly: true }, tokenAccuracy: { ...accuracy(), evalOnly: true } },
  inputs: languageInputs,
  tokens: ({ x }) => x!.data.length,
});
