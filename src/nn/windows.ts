// Sliding windows over images as slices, which every engine handles well; shared by convolution and pooling.
import { numpy as np } from "@jax-js/jax";
import type { Tensor } from "../core/model.ts";
import { is, type Check } from "../core/options.ts";
import { ProgramError } from "../core/errors.ts";
import { showShape } from "./layer.ts";

/** A size along height and width: one number for both, or `[height, width]`. */
export type Size2d = number | readonly [number, number];

export const size2d = (least: number): Check => {
  const one = is.wholeFrom(least);
  return {
    expected: `${one.expected} or [height, width]`,
    schema: { anyOf: [one.schema!, { type: "array", items: one.schema!, minItems: 2, maxItems: 2 }] },
    test: (v) => one.test(v) || (Array.isArray(v) && v.length === 2 && v.every(one.test)),
  };
};

export const pairOf = (size: Size2d): readonly [number, number] => (typeof size === "number" ? [size, size] : size);

/** The windows along one dimension of an image. */
export interface Axis {
  readonly stride: number;
  /** Zeros before and after; after may be more than asked for, so that every strided slice fits. */
  readonly pad: [number, number];
  readonly count: number;
}

export function axisOf(owner: string, x: Tensor, dim: number, kernel: number, stride: number, padding: number): Axis {
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
export function windowSlice(x: Tensor, dim: number, offset: number, { count, stride }: Axis): Tensor {
  // jax-js slices have no step: split a range into [count, stride] and choose from the second.
  const choice = offset % stride;
  const start = offset - choice;
  const part = at(x.ref, dim, [start, start + count * stride]);
  return stride === 1 ? part : at(part.reshape(part.shape.toSpliced(dim, 1, count, stride)), dim + 1, choice);
}

const at = (x: Tensor, dim: number, index: number | [number, number]): Tensor =>
  x.slice(...x.shape.map((_, i) => (i === dim ? index : ([] as []))));

/**
 * Says "compute this array here, in this order of dimensions". Two negations change no value, but they are not a
 * view, so that jax-js writes the array out instead of reading it through transposes and padding in an inner loop.
 */
export const materialise = (x: Tensor): Tensor => np.negative(np.negative(x));
