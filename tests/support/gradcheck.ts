// Compares gradients from jitted programs with central differences, number by number.
import { defaultDevice, init, jit, numpy as np, valueAndGrad } from "@jax-js/jax";
import { expect } from "vitest";
import { sizeOf, type HostArray } from "../../src/core/arrays.ts";
import type { ApplyContext, HostTensors, Loss, Model, Tensor, Tensors } from "../../src/core/model.ts";
import { initKey, keyStream, stepKey } from "../../src/nn/key.ts";

/** jax-js on one thread of wasm; a bare `init()` throws in Node 20. */
export async function startWasm(): Promise<void> {
  await init("wasm");
  defaultDevice("wasm");
}

export function put(host: HostArray): Tensor {
  const data = host.data;
  if (data instanceof Float32Array || data instanceof Int32Array || data instanceof Uint32Array)
    return np.array(data as Float32Array<ArrayBuffer>).reshape([...host.shape]);
  throw new TypeError("put: Float32Array, Int32Array or Uint32Array only");
}

export const putAll = (host: HostTensors): Tensors =>
  Object.fromEntries(Object.entries(host).map(([name, value]) => [name, put(value)]));

/** Numbers of a tensor, which is consumed. */
export const read = (tensor: Tensor): number[] => Array.from(tensor.dataSync());

/** Reproducible numbers from −1 to 1. */
export const noise = (shape: readonly number[], seed = 1): HostArray<Float32Array> =>
  initKey(seed).uniform(shape, -1, 1);

export const ints = (values: readonly number[], shape: readonly number[] = [values.length]): HostArray<Int32Array> => ({
  data: Int32Array.from(values),
  shape,
});

export const floats = (
  values: readonly number[],
  shape: readonly number[] = [values.length],
): HostArray<Float32Array> => ({ data: Float32Array.from(values), shape });

export function context(train = false, state: Tensors = {}): ApplyContext {
  const base = np.array(Uint32Array.from(stepKey(7, 1, 0)));
  return { train, key: keyStream(base), state, loader: "train" };
}

export interface GradcheckOptions {
  readonly step?: number;
  readonly tolerance?: number;
}

/**
 * What is wrong with the gradients of `program`, a map from float inputs to a scalar: nothing, it is hoped.
 * Every number of every input is moved by ±step. The scalar is multiplied by an input that is 1: jax-js's jit pads a
 * literal wrongly (the zeros become the literal), and without the factor the derivative of a sum of slices is that.
 */
export function gradcheck(
  program: (inputs: Tensors) => Tensor,
  inputs: HostTensors,
  { step = 1e-2, tolerance = 1e-2 }: GradcheckOptions = {},
): string[] {
  const forward = jit(program);
  const scaled = (tensors: Tensors, scale: Tensor): Tensor => program(tensors).mul(scale);
  const one = put(floats([1], []));
  const [value, gradients] = jit(valueAndGrad(scaled))(putAll(inputs), one) as unknown as [Tensor, Tensors];
  if (value.ndim !== 0) return [`expected a scalar, got [${value.shape.join(", ")}]`];
  const wrong = Number.isFinite(read(value)[0]) ? [] : ["the value is not finite"];
  for (const [name, input] of Object.entries(inputs)) {
    const actual = read(gradients[name]!);
    const at = (i: number, by: number): number => {
      const data = Float32Array.from(input.data);
      data[i]! += by;
      return read(forward(putAll({ ...inputs, [name]: { ...input, data } })))[0]!;
    };
    for (let i = 0; i < input.data.length; i++) {
      const expected = (at(i, step) - at(i, -step)) / (2 * step);
      // Written so that NaN is wrong, too.
      if (!(Math.abs(actual[i]! - expected) <= tolerance * (1 + Math.abs(expected))))
        wrong.push(`d/d${name}[${i}] is ${actual[i]}, and by differences ${expected}`);
    }
  }
  return wrong;
}

/** A layer's output, computed eagerly and under jit, which must agree. */
export function applyLayer(layer: Model<Tensor, Tensor>, params: HostTensors, input: HostArray, train = false): Tensor {
  const state = layer.initState?.() ?? {};
  const forward = (tensors: Tensors, x: Tensor): Tensor => {
    const result = layer.apply(tensors, x, context(train, putAll(state)));
    return Array.isArray(result) ? result[0] : result;
  };
  const jitted = read(jit(forward)(putAll(params), put(input)));
  const y = forward(putAll(params), put(input));
  expect(maxError(jitted, read(y.ref)), "eager and jitted differ").toBeLessThan(1e-5);
  return y;
}

/** What is wrong with the gradients of a layer's parameters and (float) input, through a weighted sum so that every output matters differently. */
export function gradcheckLayer(
  layer: Model<Tensor, Tensor>,
  input: HostArray,
  {
    train = false,
    params = layer.init(initKey(3)),
    ...options
  }: GradcheckOptions & { train?: boolean; params?: HostTensors } = {},
): string[] {
  const fixed = input.data instanceof Float32Array ? {} : { input };
  const state = layer.initState?.() ?? {};
  return gradcheck(
    ({ input: x, ...rest }) => {
      const result = layer.apply(rest, x ?? put(fixed.input!), context(train, putAll(state)));
      const y = Array.isArray(result) ? result[0] : result;
      return y.mul(put(noise(y.shape, 11))).sum();
    },
    { ...params, ...(fixed.input ? {} : { input }) },
    options,
  );
}

/** A loss and its gradient under jit; the eager value must agree. */
export function evaluateLoss(
  loss: Loss,
  outputs: HostArray,
  targets: HostArray,
): { value: number; gradient: number[] } {
  const program = jit(valueAndGrad((x: Tensor, y: Tensor) => loss(x, y, {})));
  const [value, gradient] = program(put(outputs), put(targets));
  expect(value.shape).toEqual([]);
  const eager = read(loss(put(outputs), put(targets), {}))[0]!;
  const jitted = read(value)[0]!;
  expect(Object.is(jitted, eager) || Math.abs(jitted - eager) < 1e-6, `${jitted} jitted, ${eager} eager`).toBe(true);
  return { value: jitted, gradient: read(gradient) };
}

/** What is wrong with a loss: another value than expected, or other gradients than finite differences. */
export function checkLoss(loss: Loss, outputs: HostArray, targets: HostArray, expected: number): string[] {
  const { value } = evaluateLoss(loss, outputs, targets);
  const wrong = Math.abs(value - expected) < 1e-5 ? [] : [`the loss is ${value}, not ${expected}`];
  return [...wrong, ...gradcheck(({ x }) => loss(x!, put(targets), {}), { x: outputs })];
}

/** The largest |a − b|, for comparisons with references. */
export function maxError(actual: readonly number[], expected: readonly number[]): number {
  expect(actual.length).toBe(expected.length);
  return actual.reduce((worst, a, i) => {
    const error = Math.abs(a - expected[i]!);
    return Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(worst, error);
  }, 0);
}

/** A float64 reference array by index: `fill([2, 3], ([i, j]) => …)`. */
export function fill(shape: readonly number[], value: (index: number[]) => number): number[] {
  return Array.from({ length: sizeOf(shape) }, (_, flat) => {
    const index: number[] = [];
    for (let d = shape.length - 1, rest = flat; d >= 0; d--) {
      index.unshift(rest % shape[d]!);
      rest = Math.floor(rest / shape[d]!);
    }
    return value(index);
  });
}
