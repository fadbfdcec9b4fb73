// hookline/nn: layers, losses and metrics. Names, layouts and initial values are PyTorch's.
import "../core/ambient.ts";
export { type AccuracyOptions, type PerplexityOptions, accuracy, mae, perplexity, rmse } from "./metrics.ts";
export {
  gelu,
  leakyRelu,
  logSoftmax,
  relu,
  sigmoid,
  silu,
  softmax,
  tanh,
  type GeluOptions,
  type LeakyReluOptions,
  type SoftmaxOptions,
} from "./activations.ts";
export { multiHeadAttention, type AttentionOptions } from "./attention.ts";
export {
  type BatchNormOptions,
  type LayerNormOptions,
  type RmsNormOptions,
  batchNorm,
  layerNorm,
  rmsNorm,
} from "./norms.ts";
export {
  type BceWithLogitsOptions,
  type CrossEntropyOptions,
  type HuberOptions,
  bceWithLogits,
  crossEntropy,
  huber,
  l1,
  mse,
} from "./losses.ts";
export { type Calls, type Child, block, residual, sequential } from "./block.ts";
export { type Conv2dOptions, type PoolOptions, type Size2d, avgPool2d, conv2d, maxPool2d } from "./conv.ts";
export { type LinearOptions, dropout, embedding, flatten, linear } from "./basic.ts";
export { initKey, keyStream, stepKey } from "./key.ts";
export type { Layer } from "./layer.ts";
export { tap } from "./tap.ts";
