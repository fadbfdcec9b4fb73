// Between the tensors of files and the host arrays that a trainer takes and gives.
import { toHostArray as checkHostArray, type HostArray, type TypedArray } from "../../core/arrays.ts";
import type { HostTensors } from "../../core/model.ts";
import { badFile, quote, type BadFile } from "./bad-file.ts";
import { bfloat16ToFloat32, float16ToFloat32 } from "./half.ts";
import { bytesPerElement, type FileDType, type FileTensor, type FileTensors } from "./tensor.ts";

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

/** 64-bit integers as 32-bit ones, for engines have no wider; a number that does not fit is an error. */
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
