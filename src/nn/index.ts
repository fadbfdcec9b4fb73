// hookline/nn: layers, losses and metrics. Names, layouts and initial values are PyTorch's.
import "../core/ambient.ts";
export { accuracy, type AccuracyOptions } from "./accuracy.ts";
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
export { batchNorm, type BatchNormOptions } from "./batch-norm.ts";
export { bceWithLogits, type BceWithLogitsOptions } from "./bce-with-logits.ts";
export { block, type Calls, type Child } from "./block.ts";
export { conv2d, type Conv2dOptions } from "./conv2d.ts";
export { crossEntropy, type CrossEntropyOptions } from "./cross-entropy.ts";
export { dropout } from "./dropout.ts";
export { embedding } from "./embedding.ts";
export { flatten } from "./flatten.ts";
export { huber, type HuberOptions } from "./huber.ts";
export { initKey, keyStream, stepKey } from "./key.ts";
export { l1 } from "./l1.ts";
export type { Layer } from "./layer.ts";
export { layerNorm, type LayerNormOptions } from "./layer-norm.ts";
export { linear, type LinearOptions } from "./linear.ts";
export { mse } from "./mse.ts";
export { perplexity, type PerplexityOptions } from "./perplexity.ts";
export { avgPool2d, maxPool2d, type PoolOptions } from "./pool2d.ts";
export { mae, rmse } from "./regression-metrics.ts";
export { residual } from "./residual.ts";
export { rmsNorm, type RmsNormOptions } from "./rms-norm.ts";
export { sequential } from "./sequential.ts";
export { tap } from "./tap.ts";
export type { Size2d } from "./windows.ts";
