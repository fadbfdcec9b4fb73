// Convolution and pooling: layers that slide a window over images. Windows are slices, which every engine handles well.
// Where an engine convolves itself (native, xla), a convolution stays one.
import { lax, numpy as np } from "@jax-js/jax";
import { component } from "../core/component.ts";
import type { Tensor } from "../core/model.ts";
import { type Check, is } from "../core/options.ts";
import { type Layer, expectImages, fanInUniform, pure, showShape } from "./layer.ts";
import { OptionError, ProgramError } from "../core/errors.ts";
import { currentLowering } from "./marks.ts";
import { isCapturing } from "./tap.ts";

/** Options of `conv2d`. */
export interface Conv2dOptions {
  readonly kernel: Size2d;
  /** Default 1. */
  readonly stride?: Size2d;
  /** Zeros added on each side (default 0). */
  readonly padding?: Size2d;
  /** Add a learned offset per output channel (default true). */
  readonly bias?: boolean;
}

/**
 * A two-dimensional convolution. On wasm and WebGPU it is slices, one concatenation and one matrix product: on wasm about ten
 * times faster than jax-js's own, at the cost of one copy of the image in memory per element of the kernel.
 * Images are [batch, channels, height, width]; `weight` is [out, in, kernelHeight, kernelWidth], as in PyTorch.
 * @example conv2d(1, 6, { kernel: 5, padding: 2 })
 */
export const conv2d = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "conv2d",
    takes: () => ({
      args: { in: is.wholeFrom(1), out: is.wholeFrom(1) },
      options: { kernel: size2d(1), stride: size2d(1), padding: size2d(0), bias: is.boolean },
      required: ["kernel"],
    }),
  },
  makeConv2d,
);

function makeConv2d(inChannels: number, outChannels: number, options: Conv2dOptions): Layer {
  const { bias = true } = options;
  const [kernelHeight, kernelWidth] = pairOf(options.kernel);
  const stride = pairOf(options.stride ?? 1);
  const padding = pairOf(options.padding ?? 0);
  const owner = `conv2d(${inChannels}, ${outChannels})`;
  const fanIn = inChannels * kernelHeight * kernelWidth;
  return {
    init: (key) => ({
      weight: fanInUniform(key.fold("weight"), [outChannels, inChannels, kernelHeight, kernelWidth], fanIn),
      ...(bias && { bias: fanInUniform(key.fold("bias"), [outChannels], fanIn) }),
    }),
    apply(params, x) {
      expectImages(owner, x, inChannels);
      if (!isCapturing() && !currentLowering()?.convolves)
        return convolve(owner, x, params.weight!, params.bias, stride, padding);
      for (const i of [0, 1]) axisOf(owner, x, i + 2, params.weight!.shape[i + 2]!, stride[i]!, padding[i]!);
      const around = padding.map((zeros): [number, number] => [zeros, zeros]);
      const y = lax.convGeneralDilated(x, params.weight!, [...stride], around);
      return bias ? y.add(params.bias!.reshape([outChannels, 1, 1])) : y;
    },
  };
}

/** Images [batch, in, height, width] by kernels [out, in, height, width], with zeros around the images. */
export function convolve(
  owner: string,
  x: Tensor,
  weight: Tensor,
  bias: Tensor | undefined,
  stride: readonly [number, number],
  padding: readonly [number, number],
): Tensor {
  const [outChannels, inChannels, kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
  const fanIn = inChannels * kernelHeight * kernelWidth;
  const rows = axisOf(owner, x, 2, kernelHeight, stride[0], padding[0]);
  const cols = axisOf(owner, x, 3, kernelWidth, stride[1], padding[1]);
  const batch = x.shape[0]!;
  const padded = np.pad(x, [[0, 0], [0, 0], rows.pad, cols.pad]);
  // Channels last, so that a window's row is contiguous.
  const image = materialize(padded.transpose([0, 2, 3, 1]));
  const wide = np.concatenate(
    offsets(kernelWidth, (j) => windowSlice(image, 2, j, cols)),
    3,
  );
  image.dispose();
  // The product is fastest when the summed dimension is a multiple of four: pad the last row with zeros.
  const extra = (4 - (fanIn % 4)) % 4;
  const last = kernelHeight - 1;
  const patches = offsets(kernelHeight, (i) => {
    const row = windowSlice(wide, 1, i, rows);
    return i === last ? padLast(row, extra) : row;
  });
  wide.dispose();
  const left = materialize(np.concatenate(patches, 3).reshape([batch * rows.count * cols.count, 1, fanIn + extra]));
  const kernel = weight.transpose([0, 2, 3, 1]).reshape([1, outChannels, fanIn]);
  let y = np.vecdot(left, materialize(padLast(kernel, extra)));
  if (bias) y = y.add(bias);
  return y.reshape([batch, rows.count, cols.count, outChannels]).transpose([0, 3, 1, 2]);
}

const offsets = (count: number, at: (offset: number) => Tensor): Tensor[] =>
  Array.from({ length: count }, (_, i) => at(i));

function padLast(x: Tensor, zeros: number): Tensor {
  return np.pad(
    x,
    x.shape.map((_, i): [number, number] => [0, i === x.ndim - 1 ? zeros : 0]),
  );
}

/** Options of `maxPool2d` and `avgPool2d`. */
export interface PoolOptions {
  /** Default: the kernel, so that windows do not overlap. */
  readonly stride?: Size2d;
  /** Rows and columns added on each side, at most half the kernel (default 0). Max pooling ignores them. */
  readonly padding?: Size2d;
}

const LOWEST = -3.4028234663852886e38;

/** Max pooling over [batch, channels, height, width]. Ties go to the first element of the window, as in PyTorch. */
export const maxPool2d = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "maxPool2d",
    takes: () => ({ args: { kernel: size2d(1) }, options: { stride: size2d(1), padding: size2d(0) } }),
  },
  (kernel: Size2d, options: PoolOptions = {}): Layer =>
    pool("maxPool2d", kernel, options, (parts) => parts.reduce((a, b) => np.maximum(a, b)), LOWEST),
);

/** Average pooling over [batch, channels, height, width]. Zeros from padding count in the mean, as in PyTorch. */
export const avgPool2d = /* @__PURE__ */ component(
  {
    kind: "model",
    name: "avgPool2d",
    takes: () => ({ args: { kernel: size2d(1) }, options: { stride: size2d(1), padding: size2d(0) } }),
  },
  (kernel: Size2d, options: PoolOptions = {}): Layer =>
    pool("avgPool2d", kernel, options, (parts) => parts.reduce((a, b) => a.add(b)).mul(1 / parts.length), 0),
);

function pool(
  name: string,
  kernel: Size2d,
  options: PoolOptions,
  combine: (parts: Tensor[]) => Tensor,
  outside: number,
): Layer {
  const [kernelHeight, kernelWidth] = pairOf(kernel);
  const stride = pairOf(options.stride ?? kernel);
  const padding = pairOf(options.padding ?? 0);
  if (padding[0] * 2 > kernelHeight || padding[1] * 2 > kernelWidth)
    throw new OptionError(`${name}: Expected \`padding\` to be at most half of \`kernel\`, got ${padding.join(" × ")}`);
  const owner = `${name}(${[kernelHeight, kernelWidth].join(" × ")})`;
  return pure((x) => {
    expectImages(owner, x);
    const rows = axisOf(owner, x, 2, kernelHeight, stride[0], padding[0]);
    const cols = axisOf(owner, x, 3, kernelWidth, stride[1], padding[1]);
    const padded = pad(x, rows, cols, outside);
    const parts: Tensor[] = [];
    for (let i = 0; i < kernelHeight; i++) {
      const row = windowSlice(padded, 2, i, rows);
      for (let j = 0; j < kernelWidth; j++) parts.push(windowSlice(row, 3, j, cols));
      row.dispose();
    }
    padded.dispose();
    return combine(parts);
  });
}

function pad(x: Tensor, rows: Axis, cols: Axis, value: number): Tensor {
  const [height, width] = x.shape.slice(2) as [number, number];
  const padded = np.pad(x, [[0, 0], [0, 0], rows.pad, cols.pad]);
  // Without leading padding the extra zeros at the end are in no window.
  if (value === 0 || (rows.pad[0] === 0 && cols.pad[0] === 0)) return padded;
  const inside = np.pad(np.ones([height, width]), [rows.pad, cols.pad]).greater(0);
  return np.where(inside, padded, value);
}

/** A size along height and width: one number for both, or `[height, width]`. */
export type Size2d = number | readonly [number, number];

const size2d = (least: number): Check => {
  const one = is.wholeFrom(least);
  return {
    expected: `${one.expected} or [height, width]`,
    schema: { anyOf: [one.schema!, { type: "array", items: one.schema!, minItems: 2, maxItems: 2 }] },
    test: (v) => one.test(v) || (Array.isArray(v) && v.length === 2 && v.every(one.test)),
  };
};

const pairOf = (size: Size2d): readonly [number, number] => (typeof size === "number" ? [size, size] : size);

/** The windows along one dimension of an image. */
interface Axis {
  readonly stride: number;
  /** Zeros before and after; possibly more after than requested, so that every strided slice fits. */
  readonly pad: [number, number];
  readonly count: number;
}

function axisOf(owner: string, x: Tensor, dim: number, kernel: number, stride: number, padding: number): Axis {
  const size = x.shape[dim]! + 2 * padding;
  const count = Math.floor((size - kernel) / stride) + 1;
  if (count < 1)
    throw new ProgramError(
      `${owner}: the kernel (${kernel}) is larger than the padded input (${size}) of ${showShape(x)}`,
    );
  const needed = (Math.floor((kernel - 1) / stride) + count) * stride;
  return { stride, count, pad: [padding, padding + Math.max(0, needed - size)] };
}

/** The element at `offset` of every window along dimension `dim` of a padded array. Does not consume `x`. */
function windowSlice(x: Tensor, dim: number, offset: number, { count, stride }: Axis): Tensor {
  // jax-js slices have no step: reshape to [count, stride] and slice the second dimension.
  const choice = offset % stride;
  const start = offset - choice;
  const part = at(x.ref, dim, [start, start + count * stride]);
  return stride === 1 ? part : at(part.reshape(part.shape.toSpliced(dim, 1, count, stride)), dim + 1, choice);
}

const at = (x: Tensor, dim: number, index: number | [number, number]): Tensor =>
  x.slice(...x.shape.map((_, i) => (i === dim ? index : ([] as []))));

/**
 * Makes jax-js compute the array here, in this order of dimensions. Two negations change no value, but they are not a view,
 * so jax-js writes the array instead of reading it through transposes and padding in an inner loop.
 */
const materialize = (x: Tensor): Tensor => np.negative(np.negative(x));
