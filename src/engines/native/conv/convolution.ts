// Convolutions of images that are not products of copies. There are two kinds: a small window slides over large images
// (forward, and the gradient of the image), or a large window takes a few steps (the gradient of the kernel).
import { sizeOf } from "../../../core/arrays.ts";
import type { ConvParams } from "../../lower/conv.ts";
import type { Arg } from "../../lower/graph.ts";
import { someConvolutions } from "../../lower/primitives.ts";
import { isWhole, move, type View } from "../../lower/view.ts";

type Pair = readonly [number, number];

/** out[b, o, p] = Σ c, q: image[b, c, p × strides + q × dilation − padding] × kernel[o, c, q]. */
export interface Convolution {
  readonly batch: number;
  readonly channels: number;
  readonly outputs: number;
  /** Of an image. */
  readonly size: Pair;
  /** Of the kernel: how many q there are. */
  readonly window: Pair;
  /** How many p there are. */
  readonly places: Pair;
  readonly strides: Pair;
  readonly dilation: Pair;
  /** Zeros before and after each dimension. A correlation may have fewer than none: it begins inside of the image. */
  readonly padding: readonly [Pair, Pair];
}

/**
 * `slide`: image, kernel and result lie as [batch, channels, …], [outputs, channels, …] and [batch, outputs, …].
 * `correlate`: image and kernel lie as [channels, batch, …] and [channels, outputs, …], since the channels are the images
 * of a batch.
 */
export type Kind = "slide" | "correlate";

/** As many statements has the kernel that copies windows for a correlation. */
const MOST_TAPS = 128;

/** Of a convolution with this kernel and a result of this shape. */
export function kindOf({ view }: Arg, shape: readonly number[]): Kind {
  const [places, window] = [sizeOf(shape.slice(2)), sizeOf(view.shape.slice(2))];
  // Neither side of one place has an order.
  const isAcross = isWhole(exchanged(view)) && (places < window || (window > 1 && !isWhole(view)));
  return isAcross ? "correlate" : "slide";
}

/** Other dimensions than two, groups, and one window for the whole image are products. */
function isOurs({ view }: Arg, { vmapDims, strides }: ConvParams, shape: readonly number[]): boolean {
  if (vmapDims !== 0 || strides.length !== 2) return false;
  return sizeOf(shape.slice(2)) > 1 && sizeOf(shape) > 0 && sizeOf(view.shape) > 0;
}

/** The primitives of jax-js with these convolutions as nodes. */
export const CONVOLUTIONS = someConvolutions((kernel, params, shape) => {
  if (!isOurs(kernel, params, shape)) return undefined;
  if (kindOf(kernel, shape) === "slide") return "whole";
  return sizeOf(shape.slice(2)) <= MOST_TAPS ? "crops" : undefined;
});

/** With the first two dimensions exchanged. */
const exchanged = (view: View): View => move(view, { kind: "permute", order: [1, 0, 2, 3] })!;

/** `image` and `kernel` are shapes of the node's arguments. */
export function convolutionOf(
  image: readonly number[],
  kernel: readonly number[],
  { strides, padding, rhsDilation }: ConvParams,
  shape: readonly number[],
): Convolution {
  const pair = (numbers: readonly number[]): Pair => [numbers.at(-2)!, numbers.at(-1)!];
  const side = ([before, after]: readonly [number, number]): Pair => [before, after];
  return {
    batch: image[0]!,
    channels: image[1]!,
    outputs: kernel[0]!,
    size: pair(image),
    window: pair(kernel),
    places: pair(shape),
    strides: pair(strides),
    dilation: pair(rhsDilation),
    padding: [side(padding[0]!), side(padding[1]!)],
  };
}

/** In which order a correlation's result lies: vectors of the matrix library want a whole number of columns. */
export const outputsLast = ({ outputs }: Convolution): boolean => outputs % 16 === 0;

export const describeConvolution = (c: Convolution): string =>
  `${c.batch}·${c.channels}·${c.size.join("×")} by ${c.outputs}·${c.window.join("×")} at ${c.places.join("×")}`;
