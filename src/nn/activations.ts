// Activation functions as layers. Derivatives at kinks are PyTorch's.
import { nn, numpy as np } from "@jax-js/jax";
import { checkOptions, is } from "../core/options.ts";
import { pure, type Layer } from "./layer.ts";

/** max(x, 0). The order of the arguments makes the derivative at 0 be 0. */
export const relu = (): Layer => pure((x) => np.maximum(0, x));

/** The hyperbolic tangent, between −1 and 1. */
export const tanh = (): Layer => pure((x) => np.tanh(x));

/** 1 ÷ (1 + e⁻ˣ), between 0 and 1. */
export const sigmoid = (): Layer => pure((x) => nn.sigmoid(x));

/** x · sigmoid(x), also called swish. */
export const silu = (): Layer => pure((x) => x.ref.mul(nn.sigmoid(x)));

/** Options of `gelu`. */
export interface GeluOptions {
  /** `"none"` (default) is exact; `"tanh"` is GPT-2's approximation. */
  readonly approximate?: "none" | "tanh";
}

/** x · Φ(x), with the normal distribution's Φ. */
export function gelu(options: GeluOptions = {}): Layer {
  checkOptions("gelu", options, { approximate: is.oneOf("none", "tanh") });
  const approximate = options.approximate === "tanh";
  return pure((x) => nn.gelu(x, { approximate }));
}

/** Options of `leakyRelu`. */
export interface LeakyReluOptions {
  /** The slope below 0 (default 0.01). */
  readonly slope?: number;
}

/** x above 0, `slope` · x below. */
export function leakyRelu(options: LeakyReluOptions = {}): Layer {
  checkOptions("leakyRelu", options, { slope: is.finite });
  const { slope = 0.01 } = options;
  return pure((x) => np.where(x.ref.greater(0), x.ref, x.mul(slope)));
}

/** Options of `softmax` and `logSoftmax`. */
export interface SoftmaxOptions {
  /** The dimension that sums to 1 (default −1, the last). */
  readonly axis?: number;
}

/** Positive numbers that sum to 1 along a dimension. */
export function softmax(options: SoftmaxOptions = {}): Layer {
  checkOptions("softmax", options, { axis: is.whole });
  return pure((x) => nn.softmax(x, options.axis ?? -1));
}

/** The logarithm of `softmax`, computed without its underflow. */
export function logSoftmax(options: SoftmaxOptions = {}): Layer {
  checkOptions("logSoftmax", options, { axis: is.whole });
  return pure((x) => nn.logSoftmax(x, options.axis ?? -1));
}
