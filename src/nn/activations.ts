// Activation functions as layers. Derivatives at kinks are PyTorch's.
import { nn, numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Tensor } from "../core/model.ts";
import { is } from "../core/options.ts";
import { pure, type Layer } from "./layer.ts";

/** max(x, 0). The order of the arguments makes the derivative at 0 be 0. */
export const relu = /* @__PURE__ */ component({ kind: "model", name: "relu" }, (): Layer =>
  pure((x) => np.maximum(0, x)),
);

/** The hyperbolic tangent, between −1 and 1. */
export const tanh = /* @__PURE__ */ component({ kind: "model", name: "tanh" }, (): Layer => pure((x) => np.tanh(x)));

/** Below, e⁻ˣ would be infinite, and the derivative 0 × infinity. */
const LEAST = -88;

/** The function alone: `nn.sigmoid` of jax-js has NaN as derivative for very negative numbers. */
export const sigmoidOf = (x: Tensor): Tensor => nn.sigmoid(np.maximum(x, LEAST));

/** 1 ÷ (1 + e⁻ˣ), between 0 and 1. */
export const sigmoid = /* @__PURE__ */ component({ kind: "model", name: "sigmoid" }, (): Layer => pure(sigmoidOf));

/** x · sigmoid(x), also called swish. */
export const silu = /* @__PURE__ */ component({ kind: "model", name: "silu" }, (): Layer =>
  pure((x) => x.ref.mul(sigmoidOf(x))),
);

/** Options of `gelu`. */
export interface GeluOptions {
  /** `"none"` (default) is exact; `"tanh"` is GPT-2's approximation. */
  readonly approximate?: "none" | "tanh";
}

/** x · Φ(x), with the normal distribution's Φ. */
export const gelu = /* @__PURE__ */ component(
  { kind: "model", name: "gelu", takes: () => ({ options: { approximate: is.oneOf("none", "tanh") } }) },
  (options: GeluOptions = {}): Layer => {
    const approximate = options.approximate === "tanh";
    return pure((x) => nn.gelu(x, { approximate }));
  },
);

/** Options of `leakyRelu`. */
export interface LeakyReluOptions {
  /** The slope below 0 (default 0.01). */
  readonly slope?: number;
}

/** x above 0, `slope` · x below. */
export const leakyRelu = /* @__PURE__ */ component(
  { kind: "model", name: "leakyRelu", takes: () => ({ options: { slope: is.finite } }) },
  (options: LeakyReluOptions = {}): Layer => {
    const { slope = 0.01 } = options;
    return pure((x) => np.where(x.ref.greater(0), x.ref, x.mul(slope)));
  },
);

/** Options of `softmax` and `logSoftmax`. */
export interface SoftmaxOptions {
  /** The dimension that sums to 1 (default −1, the last). */
  readonly axis?: number;
}

/** Positive numbers that sum to 1 along a dimension. */
export const softmax = /* @__PURE__ */ component(
  { kind: "model", name: "softmax", takes: () => ({ options: { axis: is.whole } }) },
  (options: SoftmaxOptions = {}): Layer => pure((x) => nn.softmax(x, options.axis ?? -1)),
);

/** The logarithm of `softmax`, computed without its underflow. */
export const logSoftmax = /* @__PURE__ */ component(
  { kind: "model", name: "logSoftmax", takes: () => ({ options: { axis: is.whole } }) },
  (options: SoftmaxOptions = {}): Layer => pure((x) => nn.logSoftmax(x, options.axis ?? -1)),
);
