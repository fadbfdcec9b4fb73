// What training a language model will take on the engine, before it starts: an estimate, by parts.
import type { HostTensors } from "../../core/model.ts";
import { initKey } from "../../nn/key.ts";
import type { LanguageModel } from "../model/language-model.ts";

/** Bytes, by what they are for. */
export interface MemoryPlan {
  /** What is not trained. */
  readonly frozen: number;
  readonly trained: number;
  /** Gradients and the two moments of AdamW. */
  readonly training: number;
  /** What the backward pass needs of the forward pass. */
  readonly activations: number;
  /** The part of the logits that is there at a time. */
  readonly logits: number;
  readonly total: number;
}

export interface MemorySettings {
  readonly batchSize: number;
  /** Tokens in a row. */
  readonly length: number;
  /** Trained layer by layer: only what goes into each layer is kept, and the layer is computed again. */
  readonly layered: boolean;
}

const FLOAT = 4;
/** Logits of the loss: 32 million numbers at a time, and their gradient. */
const MOST_LOGITS = 2 ** 25;

const elements = (shapes: Iterable<{ readonly shape: readonly number[] }>): number => {
  let sum = 0;
  for (const { shape } of shapes) sum += shape.reduce((a, b) => a * b, 1);
  return sum;
};

export function memoryPlan(model: LanguageModel, { batchSize, length, layered }: MemorySettings): MemoryPlan {
  const { width, innerWidth, heads, layers, vocabularySize } = model.architecture;
  const own: HostTensors = model.init(initKey(0));
  const trained = FLOAT * elements(Object.values(own));
  // Words of a packed base have four bytes, too.
  const frozen = FLOAT * elements(model.base?.tensors.values() ?? []);
  const tokens = batchSize * length;
  // Norms, queries, keys, values and their sums; both sides of the feed-forward part; scores, weights and their gradient.
  const perToken = 8 * width + 4 * innerWidth + 3 * heads * length;
  const oneLayer = FLOAT * tokens * perToken;
  const activations = layered ? FLOAT * layers.length * tokens * width + 2 * oneLayer : layers.length * oneLayer;
  const logits = 2 * FLOAT * Math.min(tokens * vocabularySize, MOST_LOGITS);
  const training = 3 * trained;
  return {
    frozen,
    trained,
    training,
    activations,
    logits,
    total: frozen + trained + training + activations + logits,
  };
}
