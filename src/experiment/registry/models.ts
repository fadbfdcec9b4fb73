// The built-in layers and models by name. Sizes are arguments in code and have names in a config.
import { gelu, leakyRelu, logSoftmax, relu, sigmoid, silu, softmax, tanh } from "../../nn/activations.ts";
import { multiHeadAttention } from "../../nn/attention.ts";
import { batchNorm } from "../../nn/batch-norm.ts";
import { block } from "../../nn/block.ts";
import { conv2d } from "../../nn/conv2d.ts";
import { dropout } from "../../nn/dropout.ts";
import { embedding } from "../../nn/embedding.ts";
import { flatten } from "../../nn/flatten.ts";
import { layerNorm } from "../../nn/layer-norm.ts";
import { linear } from "../../nn/linear.ts";
import { avgPool2d, maxPool2d } from "../../nn/pool2d.ts";
import { residual } from "../../nn/residual.ts";
import { rmsNorm } from "../../nn/rms-norm.ts";
import { sequential } from "../../nn/sequential.ts";
import { listOrNamed, named, one, type Components } from "./component.ts";

export const models: Components = {
  avgPool2d: { make: avgPool2d, args: ["kernel"] },
  batchNorm: { make: batchNorm, args: ["features"] },
  block: { make: block, args: ["children", "forward"], parts: { children: named("model") } },
  conv2d: { make: conv2d, args: ["in", "out"] },
  dropout: { make: dropout, args: ["p"] },
  embedding: { make: embedding, args: ["count", "features"] },
  flatten: { make: flatten },
  gelu: { make: gelu },
  layerNorm: { make: layerNorm, args: ["features"] },
  leakyRelu: { make: leakyRelu },
  linear: { make: linear, args: ["in", "out"] },
  logSoftmax: { make: logSoftmax },
  maxPool2d: { make: maxPool2d, args: ["kernel"] },
  multiHeadAttention: { make: multiHeadAttention, args: ["features", "heads"] },
  relu: { make: relu },
  residual: { make: residual, args: ["inner"], parts: { inner: one("model") } },
  rmsNorm: { make: rmsNorm, args: ["features"] },
  sequential: { make: sequential, args: ["layers"], spread: true, parts: { layers: listOrNamed("model") } },
  sigmoid: { make: sigmoid },
  silu: { make: silu },
  softmax: { make: softmax },
  tanh: { make: tanh },
};
