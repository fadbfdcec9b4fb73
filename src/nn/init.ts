// PyTorch's default initialisations, drawn on the host.
import { sizeOf, type HostArray } from "../core/arrays.ts";
import type { InitKey } from "../core/model.ts";

/** kaiming_uniform(a = √5), which is U(±1/√fanIn): weights and biases of linear and convolution layers. */
export function fanInUniform(key: InitKey, shape: readonly number[], fanIn: number): HostArray<Float32Array> {
  const bound = 1 / Math.sqrt(fanIn);
  return key.uniform(shape, -bound, bound);
}

export const filled = (shape: readonly number[], value: number): HostArray<Float32Array> => ({
  data: new Float32Array(sizeOf(shape)).fill(value),
  shape,
});
