// A tensor as files keep it: a type, a shape and little-endian bytes in row-major order.
import type { BadFile } from "./bad-file.ts";

/** Bits of one element, in the order of alignment in which the reference implementation sorts types. */
const BITS = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  C64: 64,
  F64: 64,
  I64: 64,
  U64: 64,
} as const;

/** The element types of files, by the names of safetensors. */
export type FileDType = keyof typeof BITS;

/** A tensor as it is in a file. */
export interface FileTensor {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  /** The elements, little-endian, row-major; readers give views into the file's own bytes where they can. */
  readonly bytes: Uint8Array;
}

/** The tensors of a file by name. */
export type FileTensors = Record<string, FileTensor>;

export const DTYPES = Object.keys(BITS) as readonly FileDType[];

export const isFileDType = (name: string): name is FileDType => Object.hasOwn(BITS, name);

/** Bytes of one element; a fraction for the types that are packed. */
export const bytesPerElement = (dtype: FileDType): number => BITS[dtype] / 8;

/** More dimensions than any tensor library knows: a shape longer than this is an attack. */
export const MAX_DIMENSIONS = 64;

/** The bytes that a tensor must have, or why there can be no such tensor. */
export function sizeInBytes(dtype: FileDType, shape: readonly number[]): number | string {
  if (shape.length > MAX_DIMENSIONS) return `${shape.length} dimensions, more than ${MAX_DIMENSIONS}`;
  let elements = 1;
  for (const dimension of shape) {
    if (!Number.isSafeInteger(dimension) || dimension < 0) return `the dimension ${dimension}`;
    elements *= dimension;
    // Checked at every dimension: a zero at the end must not hide an overflow before it.
    if (!Number.isSafeInteger(elements)) return `the shape [${shape.join(", ")}], too large to count`;
  }
  const size = (elements / 8) * BITS[dtype];
  return Number.isSafeInteger(size) ? size : `${elements} elements of ${dtype}, which do not fill whole bytes`;
}

/** A name that would be a trap as a property, alone or as a part between dots. */
export const isTrap = (name: string): boolean => name.includes("__proto__") && name.split(".").includes("__proto__");

/** Checks a tensor that is to be written: what a user made may be wrong, and a wrong file is found too late. */
export function checkWritable(name: string, { dtype, shape, bytes }: FileTensor, bad: BadFile): void {
  const fix = "Nothing was written: correct the tensor.";
  const what = `tensor ${JSON.stringify(name)}`;
  if (isTrap(name)) throw bad(`${what} has a forbidden name`, fix);
  if (!isFileDType(dtype)) throw bad(`${what} has the unknown type ${JSON.stringify(dtype)}`, fix);
  const size = sizeInBytes(dtype, shape);
  if (typeof size === "string") throw bad(`${what} has ${size}`, fix);
  if (size !== bytes.length) {
    throw bad(`${what} has ${bytes.length} bytes, but ${dtype} [${shape.join(", ")}] is ${size} bytes`, fix);
  }
}
