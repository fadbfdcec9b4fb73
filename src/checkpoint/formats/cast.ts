// The same numbers in another floating-point type.
import { type BadFile, quote } from "./bad-file.ts";
import { bfloat16ToFloat32, float16ToFloat32, float32ToBfloat16, float32ToFloat16 } from "./half.ts";
import { rawValues } from "./host-arrays.ts";
import type { FileTensor, FileTensors } from "./tensor.ts";

/** The types that weights can be converted to. */
export const FLOAT_TYPES = ["F32", "F16", "BF16"] as const;
export type FloatType = (typeof FLOAT_TYPES)[number];

/** Tensors of floating-point numbers in this type; all others (indices, counters, flags) as they are. */
export function castTensors(tensors: Readonly<FileTensors>, dtype: FloatType, bad: BadFile): FileTensors {
  const entries = Object.entries(tensors).map(([name, tensor]) => [name, cast(name, tensor, dtype, bad)] as const);
  return Object.assign(Object.create(null) as FileTensors, Object.fromEntries(entries));
}

function cast(name: string, tensor: FileTensor, dtype: FloatType, bad: BadFile): FileTensor {
  const given = tensor.dtype === dtype ? undefined : floatsOf(tensor);
  if (given === undefined) return tensor;
  const single = given instanceof Float32Array ? given : Float32Array.from(given);
  const made = dtype === "F32" ? single : dtype === "F16" ? float32ToFloat16(single) : float32ToBfloat16(single);
  const lost = firstLost(given, made, dtype);
  if (lost >= 0) {
    throw bad(
      `tensor ${quote(name)} has the number ${given[lost]}, which is too large for ${dtype}`,
      dtype === "F16" ? "Convert to BF16, which has the range of F32." : "Leave the type as it is.",
    );
  }
  return { dtype, shape: tensor.shape, bytes: new Uint8Array(made.buffer, made.byteOffset, made.byteLength) };
}

/** Floating-point numbers as such; undefined for all else. */
function floatsOf(tensor: FileTensor): Float32Array | Float64Array | undefined {
  const raw = rawValues(tensor);
  if (raw instanceof Float64Array || tensor.dtype === "F32") return raw as Float32Array | Float64Array;
  if (tensor.dtype === "F16") return float16ToFloat32(raw as Uint16Array);
  return tensor.dtype === "BF16" ? bfloat16ToFloat32(raw as Uint16Array) : undefined;
}

/** Where a finite number has become infinite, or −1: such a weight would spoil the model without a word. */
function firstLost(given: Float32Array | Float64Array, made: Float32Array | Uint16Array, dtype: FloatType): number {
  const infinity = dtype === "F16" ? 0x7c00 : 0x7f80;
  const isInfinite = (value: number): boolean =>
    dtype === "F32" ? Math.abs(value) === Infinity : (value & 0x7fff) === infinity;
  return made.findIndex((value, i) => isInfinite(value) && Number.isFinite(given[i]));
}
