// What layers share: their type, checks of sizes and shapes, PyTorch's initial values.
import { numpy as np } from "@jax-js/jax";
import type { ApplyContext, InitKey, Model, Tensor } from "../core/model.ts";
import { ProgramError } from "../core/errors.ts";
import { sizeOf, type HostArray } from "../core/arrays.ts";

/** A model from one array to one array. */
export type Layer = Model<Tensor, Tensor>;

/** A layer without parameters or state. */
export function pure(forward: (x: Tensor, ctx: ApplyContext) => Tensor): Layer {
  return { init: () => ({}), apply: (_params, x, ctx) => forward(x, ctx) };
}

/**
 * Logical and, as a product. WebGPU's `&&` branches, and a sum over it is unrolled into branches that take some shader
 * compilers minutes.
 */
export const both = (a: Tensor, b: Tensor): Tensor => a.astype(np.int32).mul(b.astype(np.int32)).notEqual(0);

/** Is a whole number one of 0 … count − 1? (`>= 0` would branch like `&&`.) */
export const isIndex = (x: Tensor, count: number): Tensor => both(x.ref.greater(-1), x.less(count));

export const showShape = (x: { readonly shape: readonly number[] }): string => `[${x.shape.join(", ")}]`;

export function expectLast(owner: string, x: Tensor, size: number): void {
  if (x.shape.at(-1) !== size)
    throw new ProgramError(`${owner}: expected the last dimension to be ${size}, got ${showShape(x)}`);
}

export function expectImages(owner: string, x: Tensor, channels?: number): void {
  if (x.ndim === 4 && (channels === undefined || x.shape[1] === channels)) return;
  throw new ProgramError(`${owner}: expected [batch, ${channels ?? "channels"}, height, width], got ${showShape(x)}`);
}

export function expectWhole(owner: string, what: string, x: Tensor): void {
  if (x.dtype !== np.int32 && x.dtype !== np.uint32)
    throw new ProgramError(
      `${owner}: expected ${what} to be whole numbers (Int32Array or Uint32Array), got ${x.dtype} ${showShape(x)}`,
    );
}

/** PyTorch's default, kaiming_uniform(a = √5), which is U(±1/√fanIn): weights and biases of linear and convolution layers. */
export function fanInUniform(key: InitKey, shape: readonly number[], fanIn: number): HostArray<Float32Array> {
  const bound = 1 / Math.sqrt(fanIn);
  return key.uniform(shape, -bound, bound);
}

export const filled = (shape: readonly number[], value: number): HostArray<Float32Array> => ({
  data: new Float32Array(sizeOf(shape)).fill(value),
  shape,
});
