// What all formats share: a tensor as files keep it (type, shape, little-endian bytes in row-major order), its checks, and
// the error for a file that is refused.
import { CheckpointError } from "../../core/errors.ts";
import { didYouMean } from "../../core/names.ts";

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

export const isFileTensor = (value: unknown): value is FileTensor =>
  typeof value === "object" &&
  value !== null &&
  (value as FileTensor).bytes instanceof Uint8Array &&
  typeof (value as FileTensor).dtype === "string" &&
  Array.isArray((value as FileTensor).shape);

/** The tensors of a file by name. */
export type FileTensors = Record<string, FileTensor>;

/** Where bytes come from: a file handle, a Blob, a server that supports ranges. */
export interface ByteSource {
  readonly size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

export const DTYPES = Object.keys(BITS) as readonly FileDType[];

export const isFileDType = (name: string): name is FileDType => Object.hasOwn(BITS, name);

/** Bytes of one element; a fraction for packed types. */
export const bytesPerElement = (dtype: FileDType): number => BITS[dtype] / 8;

/** More dimensions than any tensor library supports: a longer shape is an attack. */
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

/** How many numbers tensors have in all. */
export const countNumbers = (tensors: readonly { readonly shape: readonly number[] }[]): number =>
  tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);

/** `__proto__`, alone or between dots: as a property name it would change an object's prototype. */
export const isForbiddenName = (name: string): boolean =>
  name.includes("__proto__") && name.split(".").includes("__proto__");

/** Checks a tensor before it is written: a wrong file would be found too late. */
export function checkWritable(name: string, { dtype, shape, bytes }: FileTensor, bad: BadFile): void {
  const fix = "Nothing was written: correct the tensor.";
  const what = `tensor ${JSON.stringify(name)}`;
  if (isForbiddenName(name)) throw bad(`${what} has a forbidden name`, fix);
  if (!isFileDType(dtype)) throw bad(`${what} has the unknown type ${JSON.stringify(dtype)}`, fix);
  const size = sizeInBytes(dtype, shape);
  if (typeof size === "string") throw bad(`${what} has ${size}`, fix);
  if (size !== bytes.length) {
    throw bad(`${what} has ${bytes.length} bytes, but ${dtype} [${shape.join(", ")}] is ${size} bytes`, fix);
  }
}

/** Makes the error for one file, to be thrown: the reason (no full stop) and, unless it is the default, what to do. */
export type BadFile = (reason: string, wayOut?: string, options?: ErrorOptions) => CheckpointError;

const DAMAGED = "The file is damaged or was not made by a sound writer: use another copy or an earlier checkpoint.";

export const badFile =
  (file: string): BadFile =>
  (reason, wayOut = DAMAGED, options) =>
    new CheckpointError(file, reason, wayOut, options);

/** A name from a file, safe to print: quoted, short, without control characters. */
export function quote(name: string): string {
  const short = name.length > 80 ? `${name.slice(0, 77)}…` : name;
  return JSON.stringify(short);
}

/** Suggests the nearest of a file's names. Only names of similar length are compared: a file may have any number of any length. */
export function suggestName(name: string, known: Iterable<string>): string {
  const near: string[] = [];
  for (const each of known) {
    if (Math.abs(each.length - name.length) <= 3 && near.length < 1000) near.push(each);
  }
  return didYouMean(name, near);
}

/** The same memory as a plain Uint8Array: Node's Buffer has a `slice` that does not copy. */
export const plainBytes = (bytes: Uint8Array): Uint8Array =>
  new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
