// Logits that are not computed yet: the hidden states and the weight whose product they are. For a large vocabulary the
// product is the largest array of a training step, and `crossEntropy` needs only a part of it at a time.
import { numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import { ProgramError } from "../core/errors.ts";
import { isTensor, type Model, type Outputs, type Tensor, type Tensors } from "../core/model.ts";
import { is } from "../core/options.ts";
import { linear, type LinearOptions } from "./basic.ts";
import { expectLast, showShape } from "./layer.ts";
import { isCapturing } from "./tap.ts";

const HIDDEN = "logits.hidden";
const WEIGHT = "logits.weight";
const BIAS = "logits.bias";

/**
 * The logits hidden · weightᵀ + bias, left to the loss to compute: `hidden` is [..., features], `weight` [classes,
 * features], such as an embedding's, and `bias` [classes]. `crossEntropy`, `focal`, `perplexity` and `logLoss` never hold
 * all of them; for anything else, and for `predict` and `ctx.outputs`, they are computed.
 * @example return deferredLogits(norm(x), tokens());
 */
export function deferredLogits(hidden: Tensor, weight: Tensor, bias?: Tensor): Outputs {
  const [classes, features] = weight.shape as [number, number];
  if (weight.ndim !== 2 || (bias && (bias.ndim !== 1 || bias.shape[0] !== classes)))
    throw new ProgramError(
      `deferredLogits: expected a weight [classes, features]${bias ? " and a bias [classes]" : ""}, got ${showShape(weight)}${bias ? ` and ${showShape(bias)}` : ""}`,
    );
  expectLast("deferredLogits", hidden, features);
  const logits: Tensors = { [HIDDEN]: hidden, [WEIGHT]: weight, ...(bias && { [BIAS]: bias }) };
  return isCapturing() ? logitsOf(logits) : logits;
}

/**
 * `linear` as the last layer of a classifier with many classes: its product is left to the loss. Parameters are those of
 * `linear`.
 * @example deferredLinear(768, 50304, { bias: false })
 */
export const deferredLinear = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "deferredLinear",
    takes: () => ({ args: { in: is.wholeFrom(1), out: is.wholeFrom(1) }, options: { bias: is.boolean } }),
  },
  (inFeatures: number, outFeatures: number, options: LinearOptions = {}): Model<Tensor> => ({
    init: linear(inFeatures, outFeatures, options).init,
    apply(params, x) {
      expectLast(`deferredLinear(${inFeatures}, ${outFeatures})`, x, inFeatures);
      return deferredLogits(x, params.weight!, params.bias);
    },
  }),
);

export interface DeferredParts {
  readonly hidden: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | undefined;
}

/** What the logits are made of; undefined for other outputs. */
export function deferredParts(outputs: Outputs): DeferredParts | undefined {
  if (isTensor(outputs)) return undefined;
  const { [HIDDEN]: hidden, [WEIGHT]: weight, [BIAS]: bias } = outputs;
  return hidden && weight && { hidden, weight, bias };
}

/** The model's outputs with deferred logits computed; other outputs as they are. For losses and metrics of your own. */
export function logitsOf(outputs: Outputs): Outputs {
  const parts = deferredParts(outputs);
  if (!parts) return outputs;
  const logits = np.inner(parts.hidden, parts.weight);
  return parts.bias ? logits.add(parts.bias) : logits;
}
