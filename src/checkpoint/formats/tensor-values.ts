// The numbers in a file's tensors: as typed arrays, as the host arrays of a trainer, and in other floating-point types.
import { toHostArray as checkHostArray, type HostArray, type TypedArray } from "../../core/arrays.ts";
import type { HostTensors } from "../../core/model.ts";
import {
  type BadFile,
  type FileDType,
  type FileTensor,
  type FileTensors,
  badFile,
  bytesPerElement,
  quote,
} from "./tensor.ts";

type RawArray = TypedArray | BigInt64Array | BigUint64Array;
type RawType = new (buffer: ArrayBufferLike, offset: number, length: number) => RawArray;

/** Types without an array of their own keep their bits: F16 and BF16 as Uint16Array, the small floats as bytes. */
const RAW: Readonly<Partial<Record<FileDType, RawType>>> = {
  I8: Int8Array,
  I16: Int16Array,
  U16: Uint16Array,
  F16: Uint16Array,
  BF16: Uint16Array,
  I32: Int32Array,
  U32: Uint32Array,
  F32: Float32Array,
  C64: Float32Array,
  F64: Float64Array,
  I64: BigInt64Array,
  U64: BigUint64Array,
};

/** The elements as they are in the file: a view where the bytes are aligned, else a copy. */
export function rawValues({ dtype, bytes }: FileTensor): RawArray {
  const Type = RAW[dtype];
  if (Type === undefined) return bytes;
  // A complex number is two elements of its array.
  const width = dtype === "C64" ? 4 : bytesPerElement(dtype);
  const aligned = bytes.byteOffset % width === 0 ? bytes : new Uint8Array(bytes);
  return new Type(aligned.buffer, aligned.byteOffset, aligned.length / width);
}

/** 64-bit integers as 32-bit ones, the widest that engines have. A number that does not fit is an error. */
function narrow(wide: BigInt64Array | BigUint64Array, what: string, bad: BadFile): Int32Array | Uint32Array {
  const narrowed = wide instanceof BigInt64Array ? new Int32Array(wide.length) : new Uint32Array(wide.length);
  for (let i = 0; i < wide.length; i++) {
    const value = Number(wide[i]!);
    narrowed[i] = value;
    if (narrowed[i] !== value) {
      throw bad(
        `${what} has the number ${wide[i]!}, which does not fit into 32 bits`,
        "Engines compute with 32 bits: use rawValues(tensor) to get all 64.",
      );
    }
  }
  return narrowed;
}

/** A tensor for a trainer: F16 and BF16 become float32, 64-bit integers 32-bit ones; the rest keeps its type. */
function toHost(name: string, tensor: FileTensor, bad: BadFile): HostArray {
  const { dtype, shape } = tensor;
  const raw = rawValues(tensor);
  if (raw instanceof BigInt64Array || raw instanceof BigUint64Array)
    return { data: narrow(raw, `tensor ${quote(name)}`, bad), shape };
  if (dtype === "BOOL") return { data: raw, shape, dtype: "bool" };
  if (dtype === "F16") return { data: float16ToFloat32(raw as Uint16Array), shape };
  if (dtype === "BF16") return { data: bfloat16ToFloat32(raw as Uint16Array), shape };
  if (dtype !== "U8" && (RAW[dtype] === undefined || dtype === "C64")) {
    throw bad(
      `tensor ${quote(name)} is of type ${dtype}, which no engine computes with`,
      "Convert it to F32 where the file was written, or read its bits with rawValues(tensor).",
    );
  }
  return { data: raw, shape };
}

/** Tensors of a file as a trainer takes them, sharing the file's bytes where they can; `what` names the file in errors. */
export function toHostArrays(tensors: Readonly<FileTensors>, what: string): HostTensors {
  const bad = badFile(what);
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, toHost(name, tensor, bad)]));
}

const dtypeOf = (data: TypedArray): FileDType => {
  if (data instanceof Float32Array) return "F32";
  if (data instanceof Float64Array) return "F64";
  if (data instanceof Int32Array) return "I32";
  if (data instanceof Uint32Array) return "U32";
  if (data instanceof Int16Array) return "I16";
  if (data instanceof Uint16Array) return "U16";
  return data instanceof Int8Array ? "I8" : "U8";
};

/** A host array as files keep it, sharing its memory. */
function fromHost(name: string, array: HostArray): FileTensor {
  const { data, shape, dtype } = checkHostArray(array, `tensor \`${name}\``);
  if (dtype === "bool") return { dtype: "BOOL", shape, bytes: Uint8Array.from(data, (value) => (value === 0 ? 0 : 1)) };
  return { dtype: dtypeOf(data), shape, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}

/** A trainer's tensors as files keep them, sharing their memory. */
export function fromHostArrays(tensors: Readonly<HostTensors>): FileTensors {
  return Object.fromEntries(Object.entries(tensors).map(([name, array]) => [name, fromHost(name, array)]));
}

/** The types that weights can be converted to. */
export const FLOAT_TYPES = ["F32", "F16", "BF16"] as const;
export type FloatType = (typeof FLOAT_TYPES)[number];

/** Converts floating-point tensors to this type; others (indices, counters, flags) stay as they are. */
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

/** The values of a floating-point tensor; undefined for other types. */
function floatsOf(tensor: FileTensor): Float32Array | Float64Array | undefined {
  const raw = rawValues(tensor);
  if (raw instanceof Float64Array || tensor.dtype === "F32") return raw as Float32Array | Float64Array;
  if (tensor.dtype === "F16") return float16ToFloat32(raw as Uint16Array);
  return tensor.dtype === "BF16" ? bfloat16ToFloat32(raw as Uint16Array) : undefined;
}

/** The index of a finite number that became infinite, or −1: such a weight would ruin the model silently. */
function firstLost(given: Float32Array | Float64Array, made: Float32Array | Uint16Array, dtype: FloatType): number {
  const infinity = dtype === "F16" ? 0x7c00 : 0x7f80;
  const isInfinite = (value: number): boolean =>
    dtype === "F32" ? Math.abs(value) === Infinity : (value & 0x7fff) === infinity;
  return made.findIndex((value, i) => isInfinite(value) && Number.isFinite(given[i]));
}

/** bfloat16 is the upper half of a float32, so the conversion is exact. */
export function bfloat16ToFloat32(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16;
  return new Float32Array(words.buffer);
}

/** IEEE 754 half precision. Exact: every half number is a float32 number. */
export function float16ToFloat32(bits: Uint16Array): Float32Array {
  const table = (halves ??= halfTable());
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = table[bits[i]!]!;
  return new Float32Array(words.buffer);
}

/** The float32 bits of every half number: 256 KB, made when first needed. */
let halves: Uint32Array | undefined;

function halfTable(): Uint32Array {
  const words = new Uint32Array(65536);
  const values = new Float32Array(words.buffer);
  for (let half = 0; half < 65536; half++) {
    const [sign, exponent, fraction] = [half >> 15, (half >> 10) & 31, half & 0x3ff];
    // Subnormal halves (and zero) are whole multiples of 2⁻²⁴; 31 marks infinity and NaN; the rest moves its exponent by 112.
    if (exponent === 0) values[half] = (sign === 0 ? 1 : -1) * fraction * 2 ** -24;
    else words[half] = (sign << 31) | ((exponent === 31 ? 255 : exponent + 112) << 23) | (fraction << 13);
  }
  return words;
}

/** Rounds to the nearest, ties to even, as PyTorch does. Numbers that are too large become infinite. */
export function float32ToBfloat16(values: Float32Array): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const bits = new Uint16Array(words.length);
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    // Rounding up a NaN could make it infinite, or a zero.
    bits[i] = (word & 0x7fffffff) > 0x7f800000 ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return bits;
}

export function float32ToFloat16(values: Float32Array): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const bits = new Uint16Array(words.length);
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    bits[i] = ((word >>> 16) & 0x8000) | halfOf(word & 0x7fffffff);
  }
  return bits;
}

/** The half number nearest to a float32 ≥ 0, both as bits. */
function halfOf(word: number): number {
  if (word > 0x7f800000) return 0x7e00;
  // From 65520 on the nearest would be 65536, which is beyond the range.
  if (word >= 0x477ff000) return 0x7c00;
  // Below 2⁻¹⁴ they are multiples of 2⁻²⁴.
  if (word < 0x38800000) return roundToEven(floatOf(word) * 2 ** 24);
  const moved = word - (112 << 23);
  return (moved + 0xfff + ((moved >>> 13) & 1)) >>> 13;
}

const scratch = new Float32Array(1);
const scratchWord = new Uint32Array(scratch.buffer);

function floatOf(word: number): number {
  scratchWord[0] = word;
  return scratch[0]!;
}

/** Adding 2⁵² leaves no room for a fraction, so the hardware rounds. */
const roundToEven = (value: number): number => value + 2 ** 52 - 2 ** 52;
