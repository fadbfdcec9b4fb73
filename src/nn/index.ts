// hookline/nn: layers, losses and metrics. Names, layouts and initial values are PyTorch's.
import "../core/ambient.ts";
export { type AccuracyOptions, accuracy, binaryAccuracy } from "./metrics/accuracy.ts";
export { type ClassScoreOptions, f1, precision, recall } from "./metrics/class-scores.ts";
export { confusionMatrix } from "./metrics/confusion-matrix/confusion-matrix.ts";
export type { ClassOptions, DecisionOptions } from "./metrics/decisions.ts";
export {
  type CalibrationErrorOptions,
  type PerplexityOptions,
  calibrationError,
  logLoss,
  perplexity,
} from "./metrics/entropy.ts";
export { mae, mape, r2, rmse } from "./metrics/errors.ts";
export { type RankingOptions, averagePrecision, rocAuc } from "./metrics/ranking.ts";
export { type MrrOptions, type NdcgOptions, mrr, ndcg } from "./metrics/retrieval.ts";
export type { RowOptions } from "./metrics/rows.ts";
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
export { type BceWithLogitsOptions, type BinaryFocalOptions, bceWithLogits, binaryFocal } from "./losses/binary.ts";
export { type CrossEntropyOptions, type FocalOptions, crossEntropy, focal } from "./losses/cross-entropy.ts";
export { type HuberOptions, huber, l1, mse } from "./losses/regression.ts";
export { type ClassWeights, balancedWeights } from "./losses/weights.ts";
export { type Calls, type Child, block, residual, sequential } from "./block.ts";
export { type Conv2dOptions, type PoolOptions, type Size2d, avgPool2d, conv2d, maxPool2d } from "./conv.ts";
export { type LinearOptions, dropout, embedding, flatten, linear } from "./basic.ts";
export { deferredLinear, deferredLogits, logitsOf } from "./deferred-logits.ts";
export { type MlpOptions, type MlpSetup, mlp } from "./mlp.ts";
export { initKey, keyStream, stepKey } from "./key.ts";
export { remat } from "./remat.ts";
export { stack, type StackOptions } from "./stack.ts";
export type { Layer } from "./layer.ts";
export { tap } from "./tap.ts";
